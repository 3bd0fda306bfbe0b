/** Before the room e2e: what every room with Redis needs, the sample's processes, and the tools of the site, which two files would install at once. */
import { buildSample } from '../../scripts/build-sample.mjs';
import { install } from '../../scripts/site.mjs';
import setUp from './global-setup.mjs';

export default async function setUpE2e() {
  await setUp();
  await buildSample();
  await install();
}
