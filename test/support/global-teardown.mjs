import { shared } from './shared-run.mjs';

/** After the last room. */
export default async function tearDown() {
  shared.rooms -= 1;
  if (shared.rooms === 0) await shared.stop?.();
}
