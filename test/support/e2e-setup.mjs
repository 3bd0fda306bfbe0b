/** Before the room e2e: what every room with Redis needs, the sample's processes and jars, and the tools of the site, which two files would install at once. */
import { buildSample } from '../../scripts/sample.mjs';
import { whyNoJars } from './java.mjs';
import { install } from '../../scripts/docs.mjs';
import setUp from './global-setup.mjs';

export default async function setUpE2e() {
  await setUp();
  await buildSample();
  await install();
  // jest forks its workers after this, so they inherit it.
  const why = await whyNoJars('sample/java/pom.xml');
  if (why !== undefined) console.warn(`SKIPPED: the demo with a box office in Java (${why})`);
  process.env['WHY_NO_BOX_OFFICE'] = why ?? '';
}
