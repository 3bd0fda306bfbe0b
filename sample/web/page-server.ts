import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { isFromOwnPage } from '../../lib/console/same-origin.js';

const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Nothing from elsewhere, no code in the page itself, and no page around it. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
/** Milliseconds between two states: more often than a person can see costs the browser its time. */
const pause = 100;

/** What the page may ask for. A text refuses it, and the page shows the text. */
export type Act = (fields: Readonly<Record<string, unknown>>) => string | undefined | Promise<string | undefined>;

export interface PageOptions {
  /** The directory of index.html in the repository, with `/` at its end. */
  readonly page: string;
  /** Further files of the repository that the page loads. Each file has its path for an address, so that imports are the same everywhere. */
  readonly files: readonly string[];
  /** By name: the page sends `POST act/<name>`. */
  readonly acts: Readonly<Record<string, Act>>;
  /** Everything the page shows. Sent at the start, and after each change. */
  state(): object;
}

/**
 * Serves a page, its state as server-sent events, and the acts of its buttons: relative to the page `events` and `act/<name>`.
 * For a server that listens on 127.0.0.1: a request that names another host, and an act from another origin, are refused.
 */
export class PageServer {
  private readonly watchers = new Set<ServerResponse>();
  /** Those that have not read the states before this one. They get it when they have. */
  private readonly late = new Set<ServerResponse>();
  private next: NodeJS.Timeout | undefined;

  constructor(private readonly options: PageOptions) {}

  /** Answers the request. False when it is for none of the page's addresses. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { page, acts } = this.options;
    const [path = ''] = (request.url ?? '/').slice(1).split('?');
    if (!isLocal(request.headers.host)) send(response, 403, 'This page is for 127.0.0.1.');
    else if (path === '') send(response, 302, '', { location: page });
    else if (path === `${page}events`) this.watch(response);
    else if (path.startsWith(`${page}act/`)) await this.act(own(acts, path.slice(page.length + 4)), request, response);
    else return this.sendFile(path, response);
    return true;
  }

  /** The state has changed: the pages get it soon. */
  changed(): void {
    this.next ??= setTimeout(() => {
      this.next = undefined;
      const event = this.event();
      for (const watcher of this.watchers) {
        if (watcher.writableNeedDrain) this.late.add(watcher);
        else watcher.write(event);
      }
    }, pause);
  }

  close(): void {
    clearTimeout(this.next);
    for (const watcher of this.watchers) watcher.end();
  }

  private event(): string {
    return `data: ${JSON.stringify(this.options.state())}\n\n`;
  }

  private watch(response: ServerResponse): void {
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    // A lost page asks again after so many milliseconds.
    response.write(`retry: 1000\n${this.event()}`);
    this.watchers.add(response);
    response.on('drain', () => this.late.delete(response) && response.write(this.event()));
    response.on('close', () => {
      this.watchers.delete(response);
      this.late.delete(response);
    });
  }

  private async act(act: Act | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (act === undefined || request.method !== 'POST') return send(response, 404, '');
    if (!isFromOwnPage(request.headers)) return send(response, 403, 'Only the page itself may do that.');
    try {
      const fields: unknown = JSON.parse(await bodyOf(request));
      const refusal = await act(Object(fields) as Record<string, unknown>);
      send(response, refusal === undefined ? 204 : 409, refusal ?? '');
    } catch (error) {
      send(response, error instanceof SyntaxError ? 400 : 500, (error as Error).message);
    }
  }

  private async sendFile(path: string, response: ServerResponse): Promise<boolean> {
    const { page, files } = this.options;
    const file = path === page ? `${page}index.html` : path;
    const type = types[extname(file)];
    const isOfPage = file.startsWith(page) && /^[\w.-]+$/.test(file.slice(page.length));
    if (type === undefined || !(isOfPage || files.includes(file))) return false;
    // npm starts its scripts in the repository.
    const body = await readFile(join(process.cwd(), file)).catch(() => undefined);
    if (body === undefined) return false;
    send(response, 200, body, { 'content-type': `${type}; charset=utf-8` });
    return true;
  }
}

function send(response: ServerResponse, status: number, body: string | Buffer, more: Record<string, string> = {}) {
  response.writeHead(status, { ...headers, 'content-type': 'text/plain; charset=utf-8', ...more }).end(body);
}

/** Not what every object has, such as `constructor`. */
const own = (acts: PageOptions['acts'], name: string): Act | undefined =>
  Object.hasOwn(acts, name) ? acts[name] : undefined;

/** A page of another origin may have a name of its own for this machine: it has no business here. */
const isLocal = (host = ''): boolean => /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host);

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > 10_000) throw new SyntaxError('Too long.');
  }
  return body;
}
