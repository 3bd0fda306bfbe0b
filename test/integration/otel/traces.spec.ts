import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { forkWorker } from '../../support/worker.js';

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parent: string | undefined;
  links: Array<{ traceId: string; spanId: string; isRemote?: boolean }>;
  attributes: Record<string, unknown>;
}

type Message = { port: number } | { holds: true } | { contended: true } | { spans: Span[] };
const has =
  <K extends string>(name: K) =>
  (message: unknown): message is Extract<Message, Record<K, unknown>> =>
    (message as object).hasOwnProperty(name);

/** A shop in a process of its own. */
async function open(env: Record<string, string>) {
  const worker = forkWorker('traced', { env });
  const { port } = await worker.message(has('port'));
  return Object.assign(worker, {
    buy: async (id: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}/buy/${id}`)).text(),
    spans: async (): Promise<Span[]> => {
      worker.send({ end: true });
      return (await worker.message(has('spans'))).spans;
    },
  });
}

const named = (spans: Span[], name: string): Span[] => spans.filter((span) => span.name === name);

describe('a trace of a request', () => {
  it('reads request, wait with a link to the holder, hold, query; and no trace has the commands of locks', async () => {
    const env = { KEY_PREFIX: `otel:${randomUUID()}:`, HOLDS: 'true', WAITS_HERE: 'true' };
    await using shop = await open(env);
    const first = shop.buy('42');
    await shop.message(has('holds'));
    await Promise.all([first, shop.buy('42')]);
    const spans = await shop.spans();

    const requests = named(spans, 'GET');
    const [wait, ...otherWaits] = named(spans, 'lock wait product:#{id}');
    const [hold, ...otherHolds] = named(spans, 'lock hold product:#{id}');
    expect([otherWaits, otherHolds]).toEqual([[], []]);
    const second = requests.find(({ spanId }) => spanId === wait!.parent)!;
    const holder = requests.find(({ spanId }) => spanId !== wait!.parent)!;
    expect(wait!.links).toMatchObject([{ traceId: holder.traceId, spanId: holder.spanId }]);
    expect(hold!.parent).toBe(second.spanId);
    expect(wait!.attributes).toMatchObject({ 'redis_lock.method': 'Shop.buy', 'redis_lock.holder.method': 'Shop.buy' });
    // One query in each request: in that of the holder, and in the hold of the other.
    expect(named(spans, 'get').map(({ parent }) => parent)).toEqual([holder.spanId, hold!.spanId]);

    const commands = named(spans, 'evalsha');
    expect(commands.length).toBeGreaterThan(3);
    expect(commands.map(({ parent }) => parent)).toEqual(commands.map(() => undefined));
  });

  it.each([
    ['leads to the trace of a holder in another process when asked', true],
    ['has no link to another process by default', false],
  ])('%s', async (_title, linkProcesses) => {
    const env = { KEY_PREFIX: `otel:${randomUUID()}:`, LINK_PROCESSES: `${linkProcesses}` };
    await using holder = await open({ ...env, HOLDS: 'true' });
    await using waiter = await open(env);
    const first = holder.buy('42');
    await holder.message(has('holds'));
    const second = waiter.buy('42');
    await waiter.message(has('contended'));
    holder.send({ goOn: true });
    await Promise.all([first, second]);

    const [request] = named(await holder.spans(), 'GET');
    const [wait] = named(await waiter.spans(), 'lock wait product:#{id}');
    expect(wait!.traceId).not.toBe(request!.traceId);
    expect(wait!.attributes).toMatchObject({
      'redis_lock.holder.method': 'Shop.buy',
      'redis_lock.holder.pid': holder.pid,
      'redis_lock.holder.fencing_token': expect.any(Number),
    });
    const { traceId, spanId } = request!;
    expect(wait!.links).toMatchObject(linkProcesses ? [{ traceId, spanId, isRemote: true }] : []);
  });
});
