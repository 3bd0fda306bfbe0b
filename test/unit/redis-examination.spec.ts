import { describe, expect, it } from '@jest/globals';
import { judge } from '../../lib/backends/redis/examination.js';

const codes = (info: Record<string, string>) =>
  judge(
    'redis:6379',
    `# Server\r\n${Object.entries(info)
      .map(([name, value]) => `${name}:${value}\r\n`)
      .join('')}`,
  ).map(({ code }) => code);

describe('the findings of INFO', () => {
  it.each(['5.0.14', '6.0.16', '6.1.240'])('report that a Redis of version %s is too old', (version) => {
    expect(codes({ redis_version: version })).toEqual(['LOCK_DOCTOR_VERSION']);
  });

  it.each(['6.2.0', '7.0.15', '8.2', '10.0.0'])('report nothing for a Redis of version %s', (version) => {
    expect(codes({ redis_version: version })).toEqual([]);
  });

  it('report eviction if there is a memory limit, and persistence if it is off', () => {
    expect(codes({ maxmemory: '1000', maxmemory_policy: 'volatile-ttl' })).toEqual(['LOCK_DOCTOR_EVICTION']);
    expect(codes({ maxmemory: '1000', maxmemory_policy: 'noeviction' })).toEqual([]);
    expect(codes({ maxmemory: '0', maxmemory_policy: 'allkeys-lru' })).toEqual([]);
    expect(codes({ aof_enabled: '0' })).toEqual(['LOCK_DOCTOR_PERSISTENCE']);
    expect(codes({ aof_enabled: '1' })).toEqual([]);
  });

  it('report nothing for a server that gives no information', () => {
    expect(codes({})).toEqual([]);
  });
});
