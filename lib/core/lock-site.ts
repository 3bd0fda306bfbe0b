/** The caller of a function. The stack is formatted only when `where` is read; until then it costs as much as an Error. */
export class CallSite {
  private readonly trace: { stack?: string } = {};

  /** @param callee the function whose caller is meant */
  constructor(callee: (...args: never[]) => unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(this.trace, callee);
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** `TicketService.buy (/app/ticket.service.js:12:5)` */
  get where(): string {
    const frame = this.trace.stack?.split('\n')[1]?.trim();
    return frame?.replace(/^at (?:async )?/, '').replace('file://', '') ?? 'an unknown caller';
  }
}
