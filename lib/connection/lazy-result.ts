/** Without modules of Node, Nest or rxjs: a client outside of an application uses it, too. */

interface Suspect {
  readonly subscribe?: unknown;
  readonly lift?: unknown;
  readonly getStream?: () => unknown;
  readonly setErrorHandler?: unknown;
  readonly pipe?: unknown;
  readonly readable?: unknown;
  readonly writable?: unknown;
  readonly _transform?: unknown;
}

/**
 * What a result is whose work its reader does later, in words; undefined for a result that is complete. Only what is certain: other
 * iterables and connections may have done their work.
 */
export function lazyKind(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  try {
    return kindOf(result);
  } catch {
    // A getter of the application's own: the work is done, and its result is none of these.
    return undefined;
  }
}

function kindOf(result: Suspect): string | undefined {
  const { subscribe, lift, getStream, setErrorHandler } = result;
  if (typeof subscribe === 'function' && typeof lift === 'function') return 'an Observable';
  if (isLazyStream(result)) return 'a stream';
  // Nest's StreamableFile returns the stream that it has. Another object may open one for each call.
  const isFile = typeof getStream === 'function' && typeof setErrorHandler === 'function';
  if (isFile && isLazyStream(getStream.call(result))) return 'a stream';
  const [, generator] = /^\[object ((?:Async)?Generator)\]$/.exec(Object.prototype.toString.call(result)) ?? [];
  if (generator === undefined) return undefined;
  return generator === 'Generator' ? 'a generator' : 'an async generator';
}

/** True for a stream of Node that is still to be read. A connection is readable, too, and its work is its own. */
export function isLazyStream(result: unknown): result is NodeJS.ReadableStream {
  if (typeof result !== 'object' || result === null) return false;
  const { pipe, readable, writable, _transform } = result as Suspect;
  return (
    typeof pipe === 'function' && readable === true && (writable === undefined || typeof _transform === 'function')
  );
}
