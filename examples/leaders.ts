import { Injectable, type OnModuleInit } from '@nestjs/common';
import { currentLock, Leader, LeaderOnly, type Leadership, RedisLockService } from 'nestjs-redis-lock';

/** Stands for a table that refuses writes of earlier leaders. */
@Injectable()
export class Reports {
  readonly written: Array<{ epoch: number; report: string }> = [];

  async write(epoch: number, report: string): Promise<boolean> {
    if (epoch < (this.written.at(-1)?.epoch ?? 0)) return false;
    this.written.push({ epoch, report });
    return true;
  }
}

// #region leader
@Injectable()
export class Scheduler {
  constructor(private readonly reports: Reports) {}

  @Leader('scheduler')
  async lead({ signal, epoch }: Leadership): Promise<void> {
    while (!signal.aborted) {
      // The table refuses an epoch that is smaller than one it has seen.
      await this.reports.write(epoch, `report of ${new Date().toISOString()}`);
      await nextMinute(signal);
    }
  }
}
// #endregion

/** Resolves after a minute, or when the signal aborts. */
export function nextMinute(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 60_000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

// #region leader-only
@Injectable()
export class Cleanup {
  constructor(private readonly reports: Reports) {}

  // @Cron('0 * * * *')
  @LeaderOnly('scheduler')
  async everyHour(): Promise<void> {
    await this.reports.write(currentLock()!.fencingToken, 'removed old reports');
  }
}
// #endregion

// #region by-hand
@Injectable()
export class Indexer implements OnModuleInit {
  isDraining = false;
  readonly leaders: string[] = [];

  constructor(private readonly locks: RedisLockService) {}

  onModuleInit(): void {
    const election = this.locks.election('indexer');
    // Ends with the application, or with the option `signal`. Never rejects.
    void election.campaign(({ signal, epoch }) => this.index(epoch, signal), {
      candidate: () => !this.isDraining,
    });
    void this.watch();
  }

  async watch(): Promise<void> {
    for await (const leader of this.locks.election('indexer').observe()) {
      this.leaders.push(leader ? `${leader.host} ${leader.pid}, epoch ${leader.fencingToken}` : 'no leader');
    }
  }

  private async index(_epoch: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await nextMinute(signal);
  }
}
// #endregion
