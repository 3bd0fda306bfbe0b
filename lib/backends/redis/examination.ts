import type { Redis } from 'ioredis';
import type { LockFinding } from '../../core/lock-finding.js';
import { redisFindings as findings } from './redis.messages.js';
import { addressOf, endConnection } from './redis-connection.js';
import { isRefused } from './redis-errors.js';

/** What is asked about its settings. */
interface Server {
  readonly address: string;
  info(): Promise<string>;
}

const leastVersion = '6.2';

/**
 * Settings that lose locks, by INFO alone: it needs no permission beyond the smallest ACL, while CONFIG is closed on hosted servers.
 * A server that does not say is not blamed. Never rejects.
 */
export async function examineSettings(server: Server): Promise<LockFinding[]> {
  const { address } = server;
  try {
    return judge(address, await server.info());
  } catch (error) {
    // What else can go wrong is told by whoever watches the connection.
    return isRefused(error) ? [findings.infoRefused(address, (error as Error).message)] : [];
  }
}

/** @param info the answer to INFO */
export function judge(address: string, info: string): LockFinding[] {
  const { redis_version: version, maxmemory, maxmemory_policy: policy, aof_enabled: aof } = fieldsOf(info);
  const found: LockFinding[] = [];
  if (version !== undefined && isOlder(version, leastVersion))
    found.push(findings.oldVersion(address, version, leastVersion));
  // Without a limit nothing is thrown away, whatever the policy.
  if (policy !== undefined && policy !== 'noeviction' && Number(maxmemory) > 0)
    found.push(findings.eviction(address, policy));
  if (aof === '0') found.push(findings.persistence(address));
  return found;
}

const fieldsOf = (info: string): Partial<Record<string, string>> =>
  Object.fromEntries([...info.matchAll(/^([a-z_]+):([^\r\n]*)/gm)].map(([, name, value]) => [name, value]));

function isOlder(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

/**
 * Subscribes once, as a waiter will: a missing permission shows now, and not as slow hand-offs. Never rejects.
 * @param redis a connection for nothing else; it is ended
 */
export async function examineMessages(
  redis: Redis,
  channel: string,
  subscribe: (redis: Redis, channel: string) => Promise<unknown>,
): Promise<LockFinding[]> {
  // Without a listener ioredis prints; the command connection sees the same server, and tells.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await subscribe(redis, channel);
    return [];
  } catch (error) {
    return isRefused(error) ? [findings.noMessages(addressOf(redis), (error as Error).message)] : [];
  } finally {
    await endConnection(redis);
  }
}
