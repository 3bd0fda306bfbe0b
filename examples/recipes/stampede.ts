import { Injectable } from '@nestjs/common';
import { DistributedLock } from 'nestjs-redis-lock';

/** Stands for a cache that all processes share. */
@Injectable()
export class Cache {
  private readonly entries = new Map<string, string>();

  async get(key: string): Promise<string | undefined> {
    return this.entries.get(key);
  }

  async set(key: string, value: string): Promise<void> {
    this.entries.set(key, value);
  }
}

/** Stands for the expensive query. */
@Injectable()
export class Warehouse {
  async query(id: string): Promise<string> {
    return `report ${id}`;
  }
}

// #region stampede
@Injectable()
export class CachedReports {
  constructor(
    private readonly cache: Cache,
    private readonly warehouse: Warehouse,
  ) {}

  async get(id: string): Promise<string> {
    return (await this.cache.get(id)) ?? this.load(id);
  }

  @DistributedLock({ key: 'cache:report:#{id}', wait: '10s' })
  private async load(id: string): Promise<string> {
    // Look again: the holder before has filled the cache while this call was waiting.
    const cached = await this.cache.get(id);
    if (cached !== undefined) return cached;
    const report = await this.warehouse.query(id);
    await this.cache.set(id, report);
    return report;
  }
}
// #endregion
