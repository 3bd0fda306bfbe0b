import type { Redis } from 'ioredis';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { redisFindings as findings } from './redis.messages.js';
import { addressOf, endConnection, openConnection } from './redis-connection.js';
import { textOf, isRefused } from './redis-errors.js';

/** A server whose settings are read. */
interface Server {
  readonly address: string;
  info(): Promise<string>;
}

const leastVersion = '6.2';

/**
 * Finds settings that lose locks, by INFO alone: it needs no permission beyond the smallest ACL, while CONFIG is closed on hosted servers.
 * A server that does not send a setting has no finding. Never rejects.
 */
export async function examineSettings(server: Server): Promise<LockFinding[]> {
  const { address } = server;
  try {
    return judge(address, await server.info());
  } catch (error) {
    // The connection reports other errors itself.
    return isRefused(error) ? [findings.infoRefused(address, textOf(error))] : [];
  }
}

/** @param info the reply to INFO */
export function judge(address: string, info: string): LockFinding[] {
  const { redis_version: version, maxmemory, maxmemory_policy: policy, aof_enabled: aof } = fieldsOf(info);
  const found: LockFinding[] = [];
  if (version !== undefined && isOlder(version, leastVersion))
    found.push(findings.oldVersion(address, version, leastVersion));
  // Without a limit Redis evicts nothing under any policy.
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
 * Subscribes once, as a waiter does: a missing permission shows now, and not as slow hand-offs. Never rejects.
 * @param redis a connection for this only; it is ended
 */
export async function examineMessages(
  redis: Redis,
  channel: string,
  subscribe: (redis: Redis, channel: string) => Promise<unknown>,
): Promise<LockFinding[]> {
  // Without a listener ioredis prints errors; the command connection reports them, from the same server.
  redis.on('error', () => undefined);
  try {
    await openConnection(redis);
    await subscribe(redis, channel);
    return [];
  } catch (error) {
    return isRefused(error) ? [findings.noMessages(addressOf(redis), textOf(error))] : [];
  } finally {
    await endConnection(redis);
  }
}
