import { describe, expect, it } from '@jest/globals';
import { channels } from '../../../lib/diagnostics/channels.js';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { Lab } from '../../../site/lab/lab.js';
import type { Action, Settings } from '../../../site/lab/scene.js';
import { scenes } from '../../../site/lab/scenes.js';

async function told(scene: string, settings: Partial<Settings>, ...actions: Action[]): Promise<string[]> {
  const lab = new Lab(scenes[scene]!, settings);
  await lab.start();
  for (const action of actions) await lab.do(action);
  lab.close();
  return lab.story.told.map(({ text }) => text);
}

describe('the story of the simulator', () => {
  it('calls a lock free only if no one holds it', async () => {
    const readers = await told('readers', {}, { do: 'start', who: 'R1' }, { do: 'start', who: 'R2' });
    expect(readers).toContain('R1 gets catalogue with token 1: it is free.');
    expect(readers).toContain('R2 gets catalogue with token 2: readers hold it together.');
    const permits = await told('permits', {}, { do: 'start', who: 'A' }, { do: 'start', who: 'B' });
    expect(permits).toContain('B gets provider with token 2: a permit is free.');
  });

  it('says that a fixed lease is looked at, and not that it is renewed', async () => {
    const events: Action[] = [
      { do: 'start', who: 'A' },
      { do: 'wait', ms: 500 },
      { do: 'redis-away' },
      { do: 'wait', ms: 500 },
      { do: 'redis-back' },
    ];
    expect(await told('queue', { lease: 10_000, renew: false }, ...events)).toContain(
      'A asks Redis about stock:42: it still has it, for 9 s.',
    );
    expect(await told('queue', { lease: 10_000 }, ...events)).toContain(
      'A renews its lease of stock:42: 10 s from now.',
    );
  });

  it('tells how a lock became free that was waited for', async () => {
    const lab = new Lab(scenes['queue']!);
    await lab.start();
    await lab.do({ do: 'start', who: 'A' });
    await lab.do({ do: 'start', who: 'B' });
    await lab.do({ do: 'wait', ms: 6_000 });
    expect(lab.story.told.at(-1)!.text).toBe('B gets stock:42 with token 2 after 6 s: A has released it.');
    lab.close();
  });

  it('leaves nothing in the page when it is closed: no subscriber, and no process that is dead or stands still', async () => {
    const lab = new Lab(scenes['queue']!);
    await lab.start();
    for (const who of ['A', 'B', 'C']) await lab.do({ do: 'start', who });
    await lab.do({ do: 'stop', who: 'A' });
    await lab.do({ do: 'kill', who: 'B' });
    expect(channels.acquire.start.hasSubscribers).toBe(true);
    lab.close();
    const { acquire, hold, renewed } = channels;
    expect(liveConnections.size).toBe(0);
    expect([acquire, hold, renewed].map(({ hasSubscribers }) => hasSubscribers)).toEqual([false, false, false]);
  });

  it('keeps Redis away until the reader brings it back', async () => {
    const lab = new Lab(scenes['queue']!);
    await lab.start();
    await lab.do({ do: 'redis-away' });
    await lab.do({ do: 'wait', ms: 4 * 3_600_000 });
    expect([lab.isPossible({ do: 'redis-away' }), lab.isPossible({ do: 'redis-back' })]).toEqual([false, true]);
    lab.close();
  }, 30_000);
});
