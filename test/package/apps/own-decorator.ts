import { applyDecorators, Post } from '@nestjs/common';
import { DistributedLock, Leader, LeaderOnly, type LockOptions } from 'nestjs-redis-lock';

// Decorators of an application that writes its declarations: each type is named there, by an import from the package.
export const ByTemplate = () => DistributedLock('product:#{id}');
export const ByFunction = (options: LockOptions) =>
  DistributedLock({
    ...options,
    key: (id: string) => id,
    onContended: (error, id: string) => `${error.code} ${id}`,
    signal: (_id: string, signal?: AbortSignal) => signal,
  });
export const Led = () => LeaderOnly('reports');
export const Leads = () =>
  Leader('reports', {
    candidate(this: Products) {
      return this.isHealthy;
    },
  });

// As a part of others, and as what Nest calls a decorator.
export const Sale = applyDecorators(Post('sale'), DistributedLock('sale'));
export const LedSale = (path: string) => applyDecorators(Post(path), LeaderOnly('sale'), Leader('sale'));
export const Annotated = (): MethodDecorator => DistributedLock('product:#{id}');
export const AnnotatedLed = (): MethodDecorator => LeaderOnly('reports');
export const AnnotatedLeads = (): MethodDecorator => Leader('reports');

export class Products {
  readonly isHealthy = true;

  @ByTemplate() async a(id: string): Promise<string> {
    return id;
  }
  @ByFunction({ wait: 0 }) async b(id: string, _signal?: AbortSignal): Promise<string> {
    return id;
  }
  @Led() async c(): Promise<void> {}
  @Leads() async d(): Promise<void> {}
  @Sale async e(): Promise<void> {}
  @Annotated() async f(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error -- the checks of the method stay where an own decorator has no annotation
  @ByTemplate() g(id: string): string {
    return id;
  }
}
