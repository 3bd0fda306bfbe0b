import { finished } from 'node:stream';
import { StreamableFile } from '@nestjs/common';

/**
 * A file that Nest sends after the handler has answered it: the work is over when its stream is (sent, failed, or destroyed
 * because the client went; a file that nobody sends is only bounded by `maxHold`).
 * @returns undefined for every other result, which is there in full.
 */
export function endOfStream(result: unknown): Promise<void> | undefined {
  if (!(result instanceof StreamableFile)) return undefined;
  // The callback also comes with an error, which Nest handles.
  return new Promise((resolve) => void finished(result.getStream(), { writable: false }, () => resolve()));
}
