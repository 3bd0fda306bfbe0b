import {
  Body,
  type CallHandler,
  Controller,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  Param,
  Put,
  UseInterceptors,
} from '@nestjs/common';
import { currentLock, DistributedLock, LockInterceptor, lockName } from 'nestjs-redis-lock';
import { type Observable, finalize } from 'rxjs';

/** What happens in a request, each with the lock that is held at that moment. */
export const events: string[] = [];
const note = (event: string): void => void events.push(`${event}, lock ${currentLock()?.key}`);

interface Request {
  params: { id: string };
}

/** Stands for an interceptor that begins a transaction, and commits it when the handler has answered. */
@Injectable()
export class TransactionInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    note('begin');
    return next.handle().pipe(finalize(() => note('commit')));
  }
}

@Controller('products')
export class ProductsController {
  // #region interceptor
  @Put(':id')
  @UseInterceptors(LockInterceptor, TransactionInterceptor)
  @DistributedLock({
    key: (context: ExecutionContext) => lockName`product:${context.switchToHttp().getRequest<Request>().params.id}`,
  })
  async update(@Param('id') id: string, @Body() change: { stock: number }): Promise<string> {
    note('update');
    return `${id}: ${change.stock}`;
  }
  // #endregion
}
