import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { asTest } from '../../../site/lab/as-test.js';
import { Lab } from '../../../site/lab/lab.js';
import type { Scene } from '../../../site/lab/scene.js';
import { scenes } from '../../../site/lab/scenes.js';

async function played(scene: Scene): Promise<Lab> {
  const lab = new Lab(scene);
  await lab.start();
  for (const { actions } of scene.steps) for (const action of actions) await lab.do(action);
  lab.close();
  return lab;
}

describe.each(Object.entries(scenes))('the scene %s', (_name, scene) => {
  it('ends as its text says, and every guarantee holds', async () => {
    const lab = await played(scene);
    expect(lab.ending).toEqual(scene.ends);
    expect(lab.guarantees.list.map(({ id, state }) => `${id} ${state}`)).toEqual(
      Array.from({ length: 9 }, (_, index) => `G${index + 1} holds`),
    );
    // Each sentence is there once, and names what it is about.
    expect(lab.story.told.filter(({ text }) => /undefined|null|NaN/.test(text))).toEqual([]);
  });
});

// What a reader copies, as it stands: each file registers its own test here.
const directory = mkdtempSync(join(tmpdir(), 'lab-'));
afterAll(() => rmSync(directory, { recursive: true }));
for (const [name, scene] of Object.entries(scenes)) {
  const file = join(directory, `${name}.spec.ts`);
  writeFileSync(file, asTest(await played(scene)));
  await import(file);
}
