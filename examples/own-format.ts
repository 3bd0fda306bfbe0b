import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { LockError, LockNotAcquiredError } from 'nestjs-redis-lock';

// #region envelope
// { provide: APP_FILTER, useClass: Envelope }, or app.useGlobalFilters(new Envelope(app.get(HttpAdapterHost)))
@Catch()
@Injectable()
export class Envelope implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    // A lock error comes as an HttpException with its status, and is still a LockError.
    const status = error instanceof HttpException ? error.getStatus() : 500;
    const reason = error instanceof LockError ? error.code : undefined;
    this.host.httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), { ok: false, status, reason }, status);
  }
}
// #endregion

// #region busy
// For some lock errors only: it gets the error itself, with `key`, `holder` and `leaseLeft`.
@Catch(LockNotAcquiredError)
@Injectable()
export class Busy implements ExceptionFilter<LockNotAcquiredError> {
  constructor(private readonly host: HttpAdapterHost) {}

  catch({ leaseLeft }: LockNotAcquiredError, host: ArgumentsHost): void {
    this.host.httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), { busyFor: leaseLeft }, 423);
  }
}
// #endregion
