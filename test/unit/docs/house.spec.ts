import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/inside/house.md'), 'utf8');
/** By room: its floor on the page. */
const shown = new Map(
  [...page.matchAll(/^\| (\d) \| `lib\/(\w+)` \|/gm)].map(([, floor, room]) => [room, Number(floor)]),
);

it('the page of the house has each room of lib', () => {
  const rooms = readdirSync(join(root, 'lib'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(new Set(shown.keys())).toEqual(new Set(rooms.map(({ name }) => name)));
});

it('the page of the house has the floors that dependency-cruiser checks', () => {
  const { forbidden } = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
    forbidden: ReadonlyArray<{ name: string; from: { path?: string } }>;
  };
  const floors = forbidden.filter(({ name }) => name.startsWith('nothing-above-'));
  const checked = floors.flatMap(({ from }, index) =>
    /\((.*)\)/
      .exec(from.path!)![1]!
      .split('|')
      .map((room) => [room, index + 1] as const),
  );
  expect(shown).toEqual(new Map(checked));
});

it('the page of the house leads through scripts that exist', () => {
  const scripts = readdirSync(join(root, 'lib/backends/redis/scripts'), { recursive: true, encoding: 'utf8' });
  const named = [...page.matchAll(/`(\w+\.lua)`/g)].map(([, file]) => file!);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((file) => !scripts.some((path) => path.split('/').at(-1) === file))).toEqual([]);
});
