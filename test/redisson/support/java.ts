import { join } from 'node:path';
import { buildJava, newestRedisson } from '../../support/java.mjs';
import type { PeerProgram } from './peer.js';

export { newestRedisson };

/** Why Redisson itself is not tested here (redisson-setup.mjs); undefined when it is. */
export const whyNoRedisson = process.env['WHY_NO_REDISSON'] || undefined;

const java = join(import.meta.dirname, '..', 'java');
export const pom = join(java, 'pom.xml');

/** A service with this version of Redisson, built when it is not in the cache. */
export async function javaPeer(version: string): Promise<PeerProgram> {
  const program = await buildJava(pom, join(java, 'src', 'Peer.java'), version);
  return { title: `Redisson ${version}`, ...program };
}
