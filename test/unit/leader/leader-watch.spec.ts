import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { ObserveOptions } from '../../../lib/leader/leadership.js';
import { settled } from '../../../lib/backends/memory/index.js';
import { Candidate, Constituency } from './candidate.js';

/** The clients that were seen to lead, `-` for none, and when. */
function watching({ election, connection }: Candidate, options?: ObserveOptions) {
  const seen: string[] = [];
  const { clock } = election;
  const iterator = election.observe(options);
  const over = (async () => {
    for await (const leader of iterator) seen.push(`${leader?.client ?? '-'} ${Math.round(clock.now())}`);
  })();
  return { seen, over, iterator, connection };
}

const idOf = async ({ election }: Candidate): Promise<string> => (await election.leader())!.client;

describe('the leaders of an election, as one process sees them', () => {
  it('begin with the present one, also when there is none', async () => {
    const place = new Constituency();
    const [a, b] = [new Candidate(place), new Candidate(place)];
    const early = watching(b);
    await place.clock.advance(1);
    expect(early.seen).toEqual(['- 0']);
    void a.campaign();
    await place.clock.advance(1);
    const late = watching(b);
    await place.clock.advance(1);
    expect(late.seen).toEqual([`${await idOf(a)} 2`]);
  });

  it('are seen at once where this process is elected or steps down, and within the interval elsewhere', async () => {
    const place = new Constituency();
    const { clock } = place;
    const [a, b] = [new Candidate(place), new Candidate(place)];
    const [near, far] = [watching(a), watching(b, { poll: '3s' })];
    await clock.advance(1_000);
    void a.campaign();
    await clock.advance(1);
    const id = await idOf(a);
    expect(near.seen).toEqual(['- 0', `${id} 1000`]);
    expect(far.seen).toEqual(['- 0']);
    await clock.advance(1_999);
    expect(far.seen).toEqual(['- 0', `${id} 3000`]);
    await a.connection.beforeApplicationShutdown();
    await clock.advance(3_000);
    expect(far.seen.at(-1)).toBe('- 6000');
  });

  it('are each told once: a leader that stays is no news', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    const { seen } = watching(a);
    void a.campaign();
    await place.clock.advance('1h');
    expect(seen).toHaveLength(2);
    a.terms[0]!.resign();
    await place.clock.advance(1_001);
    const id = await idOf(a);
    expect(seen.map((line) => line.split(' ')[0])).toEqual(['-', id, '-', id]);
  });

  it('are not asked for while no caller waits for the next one, and no timer runs', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    const iterator = a.election.observe();
    await iterator.next();
    expect(place.clock.pending).toBe(0);
    void a.campaign();
    await place.clock.advance('1m');
    const { pending } = place.clock;
    expect(await iterator.next()).toMatchObject({ done: false, value: { fencingToken: a.terms[0]!.epoch } });
    expect(place.clock.pending).toBe(pending);
  });

  it('show what has changed in this process while no caller waited, and before the interval is over', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    const iterator = a.election.observe({ poll: '1h' });
    expect(await iterator.next()).toEqual({ done: false, value: undefined });
    void a.campaign();
    await place.clock.advance(1);
    expect(await iterator.next()).toMatchObject({ value: { fencingToken: a.terms[0]!.epoch } });
  });

  it('leave nothing behind when the iteration is left without its end', async () => {
    const a = new Candidate(new Constituency());
    const { signal } = new AbortController();
    await a.election.observe({ signal }).next();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(a.election.watches.size).toBe(0);
  });

  it('end for an iteration that rests when its signal aborts, or the application closes', async () => {
    const a = new Candidate(new Constituency());
    const abort = new AbortController();
    const [one, other] = [a.election.observe({ signal: abort.signal }), a.election.observe()];
    await Promise.all([one.next(), other.next()]);
    abort.abort();
    expect(await one.next()).toMatchObject({ done: true });
    await a.connection.beforeApplicationShutdown();
    expect(await other.next()).toMatchObject({ done: true });
  });

  it('say nothing while Redis does not answer, and go on afterwards', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    place.server.faults.unavailable('1m');
    const { seen } = watching(a);
    await place.clock.advance(59_000);
    expect(seen).toEqual([]);
    await place.clock.advance(6_000);
    expect(seen).toEqual(['- 60000']);
  });

  it.each<[string, (w: ReturnType<typeof watching>, abort: AbortController) => unknown]>([
    ['return', ({ iterator }) => iterator.return!()],
    ['its signal', (_, abort) => abort.abort()],
    ['the shutdown', ({ connection }) => connection.beforeApplicationShutdown()],
  ])('end with %s, although the next one is awaited: no timer is left', async (_, end) => {
    const place = new Constituency();
    const abort = new AbortController();
    const watch = watching(new Candidate(place), { signal: abort.signal });
    await place.clock.advance(100);
    expect(place.clock.pending).toBe(1);
    const done = end(watch, abort);
    await watch.over;
    await done;
    expect(watch.seen).toEqual(['- 0']);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    expect(place.clock.pending).toBe(0);
    expect(await watch.iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('end while Redis is asked, without waiting for the reply', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    a.backend.inspect = () => new Promise(() => undefined);
    const watch = watching(a);
    await settled();
    await watch.iterator.return!();
    await watch.over;
    expect(watch.seen).toEqual([]);
  });

  it('end at once when the signal has aborted or the application has closed', async () => {
    const a = new Candidate(new Constituency());
    expect(await a.election.observe({ signal: AbortSignal.abort() }).next()).toMatchObject({ done: true });
    await a.connection.beforeApplicationShutdown();
    expect(await a.election.observe().next()).toMatchObject({ done: true });
  });

  it('are refused at once with a wrong option', () => {
    const { election } = new Candidate(new Constituency());
    expect(() => election.observe({ poll: 10 })).toThrow(/Election.observe: poll: 10/);
    expect(() => election.observe({ signal: {} as AbortSignal })).toThrow(/Election.observe: signal: an object given/);
    expect(() => election.observe({ pol: 1 } as object)).toThrow(/Did you mean 'poll'\?/);
  });
});
