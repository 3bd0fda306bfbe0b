import { applyDecorators, Controller, Param, Post } from '@nestjs/common';
import { currentLock, DistributedLock, LeaderOnly, type LockOptions } from 'nestjs-redis-lock';

// #region own
/** The lock of a product, the same in all classes. A class may change its options. */
export const ProductLock = (options: LockOptions = {}) =>
  DistributedLock({ wait: '5s', ...options, key: 'product:#{id}' });

/** A route of a product, under its lock. */
export const ProductRoute = (path: string) => applyDecorators(Post(path), ProductLock());

/** A job of the leader. */
export const Nightly = () => LeaderOnly('nightly');
// #endregion

@Controller('products')
export class ProductSales {
  cleaned = 0;

  // #region method
  @ProductRoute(':id/sale')
  async sell(@Param('id') id: string): Promise<string> {
    return `sold ${id} under ${currentLock()?.key}`;
  }
  // #endregion

  @Nightly()
  async clean(): Promise<void> {
    this.cleaned++;
  }
}
