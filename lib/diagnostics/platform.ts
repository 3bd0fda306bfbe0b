/**
 * All that the engine takes from Node: core, diagnostics, the backend in memory and the virtual clock. The simulator in the documents has
 * another file in its place. Re-exports cost no call: published files import Node's modules directly.
 * https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/inside/adr/0087-one-file-for-node.md
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

export { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
export { channel, tracingChannel } from 'node:diagnostics_channel';
// Bound here, once: fake timers replace the globals, and a reply that waits for them would never come.
export { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Cannot be guessed. Three bytes are four characters. */
export const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** Where this code runs. */
export const processIs = (): { readonly host: string; readonly pid: number } => ({
  host: hostname(),
  pid: process.pid,
});

export const toBase64url = (text: string): string => Buffer.from(text).toString('base64url');

export const fromBase64url = (encoded: string): string => Buffer.from(encoded, 'base64url').toString();

/** Bytes of UTF-8. */
export const byteLength = (text: string): number => Buffer.byteLength(text);

/** True while a debugger can stop the process (`--inspect`). */
export const isInspected = (): boolean => {
  try {
    return process.getBuiltinModule('node:inspector').url() !== undefined;
  } catch {
    // A Node without it.
    return false;
  }
};

export const warn = (text: string, code: string): void => process.emitWarning(text, { code });
