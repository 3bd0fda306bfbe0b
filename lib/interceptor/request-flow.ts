import type { ExecutionContext } from '@nestjs/common';
import { startFlow } from '../core/lock-flow.js';
import { inRequest } from './http-answer.js';

const begun = new WeakSet<ExecutionContext>();

/**
 * How the rest of a request runs in a flow of its own. The first interceptor that asks begins that flow, whatever the order of
 * interceptors: one that began another one inside would hide the locks that were taken in between.
 * @param context which Nest makes once for each request, message or event, and hands to all of its interceptors.
 */
export function requestFlow(context: ExecutionContext): <T>(fn: () => T) => T {
  if (begun.has(context)) return (fn) => fn();
  begun.add(context);
  return (fn) => startFlow(() => inRequest(context, fn));
}
