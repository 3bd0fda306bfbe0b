import { join } from 'node:path';
import { buildJava, newestRedisson, whyNoJava } from '../../../scripts/java.mjs';
import type { PeerProgram } from './peer.js';

export { newestRedisson, whyNoJava };

/** The versions that are tested: the oldest supported one, the last of 3.x, the newest. */
export const redissonVersions = ['3.24.3', '3.52.0', newestRedisson] as const;

const java = join(import.meta.dirname, '..', 'java');
export const pom = join(java, 'pom.xml');

/** A service with this version of Redisson, built when it is not in the cache. */
export async function javaPeer(version: string): Promise<PeerProgram> {
  const program = await buildJava(pom, join(java, 'src', 'Peer.java'), version);
  return { title: `Redisson ${version}`, ...program };
}
