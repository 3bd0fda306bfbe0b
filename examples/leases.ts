import { Injectable } from '@nestjs/common';
import { DistributedLock } from 'nestjs-redis-lock';

@Injectable()
export class Imports {
  // #region leases
  // Renewed until the work ends. After a crash the others wait for up to 30 s (the module's `lease`).
  @DistributedLock('import:#{file}')
  async defaults(file: string, work: () => Promise<void>): Promise<void> {
    await work();
  }

  // Fixed: 10 s after the grant the lock is lost, even if the work goes on.
  @DistributedLock({ key: 'import:#{file}', lease: '10s' })
  async fixed(file: string, work: () => Promise<void>): Promise<void> {
    await work();
  }

  // Renewed until the work ends. After a crash the others wait for up to 10 s.
  @DistributedLock({ key: 'import:#{file}', lease: '10s', renew: true })
  async renewed(file: string, work: () => Promise<void>): Promise<void> {
    await work();
  }
  // #endregion
}

@Injectable()
export class Pictures {
  // #region worker
  // A worker thread renews the lock, too: for up to `stallLimit` (2 minutes) in which the event loop is blocked.
  @DistributedLock({ key: 'picture:#{file}', renewFrom: 'worker' })
  async resized(file: string, resize: () => void): Promise<void> {
    resize();
  }
  // #endregion
}
