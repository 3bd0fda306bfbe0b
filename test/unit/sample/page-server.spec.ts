import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PageServer } from '../../../sample/web/page-server.js';

describe('the server of the pages of the sample', () => {
  let http: Server;
  let port: number;
  let count = 0;
  const acted: unknown[] = [];
  const pages = new PageServer({
    page: 'sample/web/page/',
    files: ['lib/console/page/dom.js'],
    acts: {
      count: (fields) => {
        acted.push(fields);
        return undefined;
      },
      refuse: () => 'not now',
    },
    state: () => ({ count: ++count }),
  });

  beforeAll(async () => {
    http = createServer((question, answer) => {
      void pages.handle(question, answer).then((isHandled) => {
        if (!isHandled) answer.writeHead(404).end();
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    ({ port } = http.address() as AddressInfo);
  });

  afterAll(() => {
    pages.close();
    http.close();
  });

  beforeEach(() => void acted.splice(0));

  const own = { 'content-type': 'application/json', 'x-lock-console': '1', 'sec-fetch-site': 'same-origin' };
  /** Headers that fetch does not let a program set. */
  const send = (path: string, headers: Record<string, string>, body?: string) =>
    new Promise<{ status: number; type: string | undefined; text: string; policy: unknown }>((resolve, reject) => {
      const question = request({ port, host: '127.0.0.1', path, headers, method: body === undefined ? 'GET' : 'POST' });
      question.on('error', reject).on('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        const { 'content-type': type, 'content-security-policy': policy } = answer.headers;
        answer.on('end', () => resolve({ status: answer.statusCode!, type, text, policy }));
      });
      question.end(body);
    });

  it('serves the files of the page and those that are listed, under a policy without inline code', async () => {
    expect(await send('/sample/web/page/', {})).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    const script = await send('/lib/console/page/dom.js', {});
    expect(script).toMatchObject({ status: 200, type: 'text/javascript; charset=utf-8' });
    expect(script.policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  });

  it.each([
    '/jest.config.js',
    '/sample/web/page/../page-server.ts',
    '/lib/console/page/api.js',
    '//',
    '/sample/web/page/%2e',
  ])('serves no other file: %s', async (path) => {
    expect((await send(path, {})).status).toBe(404);
  });

  it('does what its own page asks for, and says why when it does not', async () => {
    expect((await send('/sample/web/page/act/count', own, '{"by":2}')).status).toBe(204);
    expect(acted).toEqual([{ by: 2 }]);
    expect(await send('/sample/web/page/act/refuse', own, '{}')).toMatchObject({ status: 409, text: 'not now' });
    expect((await send('/sample/web/page/act/none', own, '{}')).status).toBe(404);
    expect((await send('/sample/web/page/act/count', own, '{')).status).toBe(400);
    expect((await send('/sample/web/page/act/count', own, JSON.stringify({ by: 'x'.repeat(10_000) }))).status).toBe(
      400,
    );
    expect((await send('/sample/web/page/act/count', own)).status).toBe(404);
    expect(acted).toHaveLength(1);
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'has no act that is called %s, as every object has',
    async (name) => {
      expect((await send(`/sample/web/page/act/${name}`, own, '{}')).status).toBe(404);
    },
  );

  it.each([
    ['another origin', { ...own, 'sec-fetch-site': 'cross-site' }],
    ['another site of this machine', { ...own, 'sec-fetch-site': 'same-site' }],
    ['a form', { ...own, 'content-type': 'text/plain' }],
    ['a request without the header of the page', { ...own, 'x-lock-console': '' }],
    ['another name of this machine', { ...own, host: 'rebound.example' }],
    ['a name that begins as this machine', { ...own, host: '127.0.0.1.rebound.example' }],
  ])('does nothing for %s', async (_, headers) => {
    expect((await send('/sample/web/page/act/count', headers, '{}')).status).toBe(403);
    expect(acted).toEqual([]);
  });

  it('tells many changes at once as one state', () => {
    jest.useFakeTimers();
    try {
      let told = 0;
      const busy = new PageServer({ page: '', files: [], acts: {}, state: () => ({ told: ++told }) });
      for (let change = 0; change < 10; change++) busy.changed();
      jest.advanceTimersByTime(1_000);
      expect(told).toBe(1);
    } finally {
      jest.useRealTimers();
    }
  });

  it('tells the latest state to a page that reads late, when it has read what it had', async () => {
    let latest = 'first';
    let looked = (): void => undefined;
    const state = () => {
      looked();
      // More than the system keeps for a reader.
      return { latest, ballast: 'x'.repeat(20_000_000) };
    };
    const slow = new PageServer({ page: '', files: [], acts: {}, state });
    const server = createServer((question, answer) => void slow.handle(question, answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address() as AddressInfo;
    const answer = await new Promise<IncomingMessage>((resolve) =>
      request({ port: address.port, host: '127.0.0.1', path: '/events' }).on('response', resolve).end(),
    );
    for (latest of ['second', 'third', 'last']) {
      const told = new Promise<void>((resolve) => (looked = resolve));
      slow.changed();
      await told;
    }
    let text = '';
    let length = 0;
    for await (const chunk of answer.setEncoding('utf8')) {
      length += String(chunk).length;
      text = (text + String(chunk)).slice(-1_000_000);
      if (text.includes('"latest":"last"')) break;
    }
    slow.close();
    server.close();
    expect(text).toContain('"latest":"last"');
    // Behind the first one, and no other.
    expect(length).toBeLessThan(30_000_000);
  });

  it('tells the state at the start and after a change', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/sample/web/page/events`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const next = async (): Promise<number> => Number(/"count":(\d+)/.exec((await reader.read()).value!)![1]);
    const first = await next();
    for (const more of [1, 2]) {
      pages.changed();
      expect(await next()).toBe(first + more);
    }
    await reader.cancel();
  });
});
