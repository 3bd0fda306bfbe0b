import { StreamableFile } from '@nestjs/common';

/**
 * Whether Nest, Express or Fastify sends a handler's result piece by piece after it was answered: a StreamableFile, a stream of Node or
 * of the web, a web Response, an async iterable.
 */
export function isStreamedBody(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  if (result instanceof StreamableFile || Object.prototype.toString.call(result) === '[object Response]') return true;
  const { pipe, then, [Symbol.asyncIterator]: iterate } = result as Record<PropertyKey, unknown>;
  // A query that can be iterated and awaited stands for what it resolves to.
  return typeof then !== 'function' && (typeof pipe === 'function' || typeof iterate === 'function');
}
