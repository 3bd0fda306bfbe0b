import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock, lockName } from 'nestjs-redis-lock';

// #region tenants
export const tenants = new AsyncLocalStorage<string>(); // a middleware enters it for each request

const tenantOf = (): string => {
  const tenant = tenants.getStore();
  // Never a key without a tenant: all tenants would share it.
  if (tenant === undefined) throw new Error('no tenant in this context');
  return tenant;
};

@Injectable()
export class Invoices {
  @DistributedLock({ key: (id: string) => lockName`tenant:${tenantOf()}:invoice:${id}` })
  async send(id: string): Promise<string> {
    return `${id} under ${currentLock()!.key}`;
  }
}
// #endregion
