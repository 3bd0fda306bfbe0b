import { ConflictException } from '@nestjs/common';

/** Another purchase has got the lock since: this one was paused for too long, and may not write any more. */
export class StalePurchaseException extends ConflictException {
  constructor(eventId: string, fencingToken: number) {
    super(
      `The purchase took too long and '${eventId}' is in other hands by now (fencing token ${fencingToken}); nothing was sold.`,
    );
  }
}
