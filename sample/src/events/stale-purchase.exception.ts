import { ConflictException } from '@nestjs/common';

/** Somebody else has been given the lock since: this purchase was paused for too long, and may not write any more. */
export class StalePurchaseException extends ConflictException {
  constructor(eventId: string, fencingToken: number) {
    super(
      `The purchase took too long and '${eventId}' is in other hands by now (fencing token ${fencingToken}); nothing was sold.`,
    );
  }
}
