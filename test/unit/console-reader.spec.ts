import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { FindResponse } from '../../lib/console/responses.js';
import { ConsoleReader } from '../../lib/console/console.reader.js';
import type { LockConnection } from '../../lib/connection/lock.connection.js';
import { lockDefaults } from '../../lib/core/options.js';
import { LockUnavailableError } from '../../lib/errors/lock-errors.js';
import type { SeenProcess } from '../../lib/operators/wait-graph.js';
import { listed, processAt, waits } from '../support/fleet-activity.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** A reader of a connection that answers so, and the time. */
function setUp({
  told = [],
  names = [],
  isWhole = true,
}: {
  told?: SeenProcess[];
  names?: string[];
  isWhole?: boolean;
}) {
  const world = { now: 5_000, isAway: false };
  jest.spyOn(performance, 'now').mockImplementation(() => world.now);
  const client = {
    activity: { fleet: async () => ({ total: told.length, processes: told }) },
    views: {
      firstNames: async (beginning: string) => ({ names: names.filter((name) => name.startsWith(beginning)), isWhole }),
      inspect: async (key: string) => ({ key }),
    },
  };
  const connection = {
    name: 'default',
    defaults: lockDefaults,
    operators: {
      activity: { own: async () => processAt('own', []), live: { holds: async () => ({ holds: listed() }) } },
    },
    inspect: async (_key: unknown, question: (given: object) => unknown) => {
      if (world.isAway) throw new LockUnavailableError('away');
      return question(client);
    },
  };
  return { world, reader: new ConsoleReader(connection as unknown as LockConnection) };
}

describe('what the console has read', () => {
  it('grows old while Redis is away: each time is as of now', async () => {
    const { reader, world } = setUp({ told: [processAt('other', [waits('a', 1_000)], { age: 500 })] });
    expect(await reader.overview()).toMatchObject({ age: 0, contended: [{ longest: 1_500 }] });
    world.isAway = true;
    world.now += 10_000;
    expect(await reader.overview()).toMatchObject({
      problem: 'unavailable',
      age: 10_000,
      contended: [{ longest: 11_500 }],
    });
  });

  it.each<[names: number, isWhole: boolean, said: boolean]>([
    [1, true, true],
    [1, false, false],
    [50, true, true],
    [51, true, false],
  ])(
    'is called whole only if all names were read and are shown: %p names, read to the end: %p',
    async (count, isWhole, said) => {
      const names = Array.from({ length: count }, (_, index) => `order:${index}`);
      const found = (await setUp({ names, isWhole }).reader.find('order:')) as FindResponse;
      expect(found.isWhole).toBe(said);
      expect(found.names).toHaveLength(Math.min(count, 50));
    },
  );

  it('of a lock is looked at again for nothing within a second, and not after a forced release', async () => {
    const { reader, world } = setUp({});
    expect(reader.hasLooked('a')).toBe(false);
    await reader.inspect('a');
    world.now += 999;
    expect([reader.hasLooked('a'), reader.hasLooked('b')]).toEqual([true, false]);
    world.now += 1;
    expect(reader.hasLooked('a')).toBe(false);
    await reader.inspect('a');
    reader.forget('a');
    expect(reader.hasLooked('a')).toBe(false);
  });
});
