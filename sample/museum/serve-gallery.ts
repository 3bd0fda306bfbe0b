import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PageServer } from '../web/page-server.js';
import type { Gallery } from './gallery.js';

/** Serves the page with the exhibits until the signal aborts. Each exhibit runs once at the start, and again when the page asks for it. */
export async function serveGallery(gallery: Gallery, port: number, signal: AbortSignal): Promise<true> {
  /** Names, the next one first. One at a time: the processes of an exhibit share the machine. */
  const queue = gallery.pieces.map(({ name }) => name);
  let running: string | undefined;
  let wake: (() => void) | undefined;
  const run = ({ name }: Readonly<Record<string, unknown>>): string | undefined => {
    if (!gallery.pieces.some((piece) => piece.name === name)) return 'There is no such exhibit.';
    if (running === name) return 'It runs already.';
    const index = queue.indexOf(String(name));
    if (index >= 0) queue.splice(index, 1);
    queue.unshift(String(name));
    wake?.();
    pages.changed();
    return undefined;
  };
  const pages = new PageServer({
    page: 'sample/museum/page/',
    files: ['lib/console/page/app.css', 'lib/console/page/dom.js', 'sample/web/page/live.js'],
    acts: { run },
    state: () => ({ running, queue, exhibits: gallery.pieces }),
  });
  const server = createServer((request, response) => {
    pages.handle(request, response).then(
      (isHandled) => isHandled || response.writeHead(404).end(),
      () => response.destroy(),
    );
  }).listen(port, '127.0.0.1');
  signal.addEventListener('abort', () => wake?.());
  try {
    await once(server, 'listening', { signal });
    console.log(`The museum is open at http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    while (!signal.aborted) {
      running = queue.shift();
      if (running === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else await gallery.run(running, signal, () => pages.changed());
      running = undefined;
      pages.changed();
    }
  } finally {
    pages.close();
    server.closeAllConnections();
    server.close();
  }
  signal.throwIfAborted();
  return true;
}
