/** Before the room e2e: what every room with Redis needs, and the sample's processes. */
import { buildSample } from '../../scripts/build-sample.mjs';
import setUp from './global-setup.mjs';

export default async function setUpE2e() {
  await setUp();
  await buildSample();
}
