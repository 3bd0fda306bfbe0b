import { shared } from './shared-run.mjs';

/** After the last room. */
export default async function tearDown() {
  await shared.stop?.();
}
