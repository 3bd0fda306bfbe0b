/** Before the room redisson: what every room with Redis needs, and the jars of Redisson, which several files would download at once. */
import { redissonVersions, whyNoJars } from './java.mjs';
import setUp from './global-setup.mjs';

export default async function setUpRedisson() {
  await setUp();
  // jest forks its workers after this, so they inherit it.
  const why = await whyNoJars('test/redisson/java/pom.xml', redissonVersions);
  if (why !== undefined) console.warn(`SKIPPED: Redisson itself (${why})`);
  process.env['WHY_NO_REDISSON'] = why ?? '';
}
