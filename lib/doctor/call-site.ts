import type { LockPlace } from '../core/lock-place.js';

/** Where a call came from. Looked up when somebody wants to know: until then it costs what an Error costs. */
export class CallSite implements LockPlace {
  readonly template = undefined;
  private readonly trace: { stack?: string } = {};

  /** @param callee the function that was called: what called it is the place. */
  constructor(callee: (...args: never[]) => unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(this.trace, callee);
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** `TicketService.buy (/app/ticket.service.js:12:5)` */
  get where(): string {
    const frame = this.trace.stack?.split('\n')[1]?.trim();
    return frame?.replace(/^at (?:async )?/, '').replace('file://', '') ?? 'an unknown place';
  }
}
