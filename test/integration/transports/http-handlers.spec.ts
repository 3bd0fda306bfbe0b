import 'reflect-metadata';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  type INestApplication,
  Injectable,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Redirect,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import {
  ApiBody,
  ApiOperation,
  ApiProperty,
  ApiQuery,
  ApiResponse,
  ApiTags,
  DocumentBuilder,
  SwaggerModule,
} from '@nestjs/swagger';
import { IsInt, IsPositive } from 'class-validator';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';
import { map, type Observable } from 'rxjs';
import { adapters, httpApplication } from './http-servers.js';

class Order {
  @ApiProperty({ description: 'how many' })
  @IsInt()
  @IsPositive()
  amount!: number;
}

class Sold {
  @ApiProperty()
  id!: number;
}

class SoldOut extends Error {}

const Roles = Reflector.createDecorator<string>();

@Injectable()
class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return this.reflector.get(Roles, context.getHandler()) === headers['x-role'];
  }
}

@Injectable()
class Wrap implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler().name;
    return next.handle().pipe(map((data: unknown) => ({ handler, data })));
  }
}

@Catch(SoldOut)
class Teapot implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}
  catch(_error: SoldOut, host: ArgumentsHost) {
    this.host.httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), 'sold out', 418);
  }
}

const Role = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-role'],
);

const seen: (string | undefined)[] = [];

/** The same controller twice, once with a lock, which is between the other decorators. */
function controllerAt(path: string, lock: MethodDecorator): Type {
  @Controller(path)
  class Things {
    @ApiTags('things')
    @ApiOperation({ summary: 'sells' })
    @Roles('buyer')
    @UseGuards(RolesGuard)
    @Post(':id')
    @UsePipes(new ValidationPipe({ transform: true }))
    @lock
    @UseInterceptors(Wrap)
    @UseFilters(Teapot)
    @HttpCode(202)
    @Header('x-thing', 'sold')
    @ApiQuery({ name: 'note', required: false })
    @ApiBody({ type: Order })
    @ApiResponse({ status: 202, type: Sold })
    async sell(
      @Param('id', ParseIntPipe) id: number,
      @Body() order: Order,
      @Role() role: string,
      @Query('note') note?: string,
    ): Promise<object> {
      seen.push(currentLock()?.key);
      if (order.amount > 9) throw new SoldOut();
      return { id, amount: order.amount, isOrder: order instanceof Order, role, note };
    }

    @lock
    @Redirect('/elsewhere', 301)
    @Get('moved/:id')
    async moved(@Param('id') _id: string) {}
  }
  return Things;
}

describe.each(adapters)('a locked handler on %s', (_name, adapter) => {
  let app: INestApplication;
  beforeAll(async () => {
    const none: MethodDecorator = () => {};
    const locked = DistributedLock({ key: (id) => `thing:${String(id)}` }) as MethodDecorator;
    app = await httpApplication(adapter, {
      controllers: [controllerAt('locked', locked), controllerAt('plain', none)],
    });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(async () => app.close());
  beforeEach(() => {
    seen.length = 0;
  });

  const sell = async (path: string, body: unknown, role = 'buyer') => {
    const response = await fetch(`${await app.getUrl()}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-role': role },
      body: JSON.stringify(body),
    });
    return { status: response.status, thing: response.headers.get('x-thing'), body: await response.text() };
  };

  it.each([
    ['sold, by arguments from pipes, decorators and types', '7?note=x', { amount: 3 }, 'buyer', 202],
    ['forbidden by a guard that reads the role from metadata', '7', { amount: 3 }, 'thief', 403],
    ['refused by the pipe of a parameter', 'seven', { amount: 3 }, 'buyer', 400],
    ['refused by the pipe of the method, by the type of the parameter', '7', { amount: -3 }, 'buyer', 400],
    ['handled by the filter of the method', '7', { amount: 10 }, 'buyer', 418],
  ])('responds as without a lock: %s', async (_what, path, body, role, status) => {
    const answer = await sell(`locked/${path}`, body, role);
    expect(answer.status).toBe(status);
    expect(answer).toEqual(await sell(`plain/${path}`, body, role));
    const ran = status === 202 || status === 418;
    expect(seen).toEqual(ran ? ['thing:7', undefined] : []);
  });

  it('redirects as without a lock', async () => {
    for (const path of ['locked', 'plain']) {
      const response = await fetch(`${await app.getUrl()}/${path}/moved/1`, { redirect: 'manual' });
      expect([response.status, response.headers.get('location')]).toEqual([301, '/elsewhere']);
    }
  });

  it('has the same Swagger document', () => {
    const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    for (const path of ['{id}', 'moved/{id}']) {
      expect(paths[`/locked/${path}`]).toEqual(paths[`/plain/${path}`]);
      expect(Object.keys(paths[`/locked/${path}`] ?? {})).toHaveLength(1);
    }
    expect(paths['/locked/{id}']?.post).toMatchObject({ summary: 'sells', responses: { 202: expect.anything() } });
  });
});
