import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  ParseIntPipe,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  Args,
  Context,
  Field,
  GqlExecutionContext,
  GraphQLModule,
  GraphQLSchemaHost,
  Info,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import { currentLock, DistributedLock, RedisLockService } from 'nestjs-redis-lock';
import { type ExecutionResult, parse, subscribe } from 'graphql';
import { from, Observable } from 'rxjs';
import { type Deferred, deferred } from '../nest/fixtures.js';
import { adapters, httpApplication } from './http-servers.js';

@ObjectType()
class Product {
  @Field(() => Int)
  id!: number;
  @Field()
  held!: string;
}

/** Needs the role in the metadata of the handler. */
class Roles implements CanActivate {
  private readonly reflector = new Reflector();
  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.get<string | undefined>('role', context.getHandler());
    const { req } = GqlExecutionContext.create(context).getContext<{ req: { headers: Record<string, string> } }>();
    return role === undefined || req.headers['x-role'] === role;
  }
}

const held = (): string => `${currentLock()?.key}`;

@Resolver(() => Product)
class Products {
  static inside: Deferred;
  static leave: Deferred;
  static readonly events: string[] = [];

  @Query(() => Product)
  @DistributedLock({ key: 'product:#{id}', wait: 0 })
  async product(@Args('id', { type: () => Int }, ParseIntPipe) id: number, @Info() info: { fieldName: string }) {
    return { id, held: `${info.fieldName} ${held()}` };
  }

  @DistributedLock('observable:#{id}')
  @Query(() => Product)
  observed(@Args('id', { type: () => Int }) id: number): Observable<Product> {
    return from([{ id, held: held() }]);
  }

  @SetMetadata('role', 'buyer')
  @UseGuards(Roles)
  @DistributedLock({ key: 'product:#{id}', wait: 0 })
  @Mutation(() => Product)
  async buy(@Args('id', { type: () => Int }) id: number, @Context('req') req: { headers: Record<string, string> }) {
    Products.inside.resolve();
    await Products.leave.promise;
    // A field resolver that is called directly is inside the same flow.
    return { id, held: `${req.headers['x-role']} ${await this.stock({ id, held: '' })}` };
  }

  @Query(() => [Product])
  async products() {
    return [1, 1, 2].map((id) => ({ id, held: '' }));
  }

  @Subscription(() => String)
  @DistributedLock('prices')
  async *prices() {
    yield { prices: held() };
    yield { prices: 'more' };
  }

  /** Locked by product: the fields of one request are resolved in parallel. */
  @ResolveField(() => String)
  @DistributedLock('product:#{product.id}')
  async stock(@Parent() product: Product) {
    Products.events.push(`in ${product.id}`);
    await new Promise((resolve) => setImmediate(resolve));
    Products.events.push(`out ${product.id}`);
    return held();
  }

  @ResolveField(() => String)
  @DistributedLock({ key: 'product:#{product.id}', wait: 0 })
  async price(@Parent() product: Product) {
    return `${product.id} ${held()}`;
  }
}

describe('GraphQL', () => {
  let app: INestApplication;
  const create = async (config: Partial<ApolloDriverConfig> = {}) => {
    app = await httpApplication(adapters[0]![1], {
      imports: [
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          graphiql: false,
          ...config,
        }),
      ],
      providers: [Products],
    });
  };
  const start = async (config: Partial<ApolloDriverConfig> = {}) => {
    await create(config);
    await app.listen(0, '127.0.0.1');
  };
  interface Answer {
    data?: Record<string, unknown> | null;
    errors?: { message: string; path: string[]; extensions: Record<string, unknown> }[];
  }
  const ask = async (query: string, role = 'buyer'): Promise<Answer> => {
    const response = await fetch(`${await app.getUrl()}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-role': role },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as Answer;
  };

  beforeEach(() => {
    Products.inside = deferred();
    Products.leave = deferred();
    Products.events.length = 0;
  });
  afterEach(async () => {
    Products.leave.resolve();
    await app.close();
  });

  it('locks queries, mutations and fields, promises and Observables, and keeps arguments, pipes, guards and metadata', async () => {
    await start();
    Products.leave.resolve();
    const seen = await ask('{ product(id: 7) { id held price stock } observed(id: 8) { id held } }');
    expect(seen.data).toEqual({
      product: { id: 7, held: 'product product:7', price: '7 product:7', stock: 'product:7' },
      observed: { id: 8, held: 'observable:8' },
    });
    expect((await ask('mutation { buy(id: 7) { id held } }')).data).toEqual({
      buy: { id: 7, held: 'buyer product:7' },
    });
    expect((await ask('mutation { buy(id: 7) { id } }', 'thief')).errors).toEqual([
      expect.objectContaining({ message: 'Forbidden resource' }),
    ]);
  });

  it('sends the client of a lock error its code and when to try again, and no internals', async () => {
    await start();
    const first = ask('mutation { buy(id: 1) { id } }');
    await Products.inside.promise;
    const { errors } = await ask('{ product(id: 1) { id } }');
    expect(errors).toEqual([
      expect.objectContaining({
        path: ['product'],
        message: 'The resource is in use. Try again later.',
        extensions: expect.objectContaining({ code: 'LOCK_CONTENDED', retryAfter: 1000 }),
      }),
    ]);
    expect(JSON.stringify(errors)).not.toContain('product:1');
    Products.leave.resolve();
    expect((await first).data).toEqual({ buy: { id: 1 } });
  });

  it('sends the code of a lock error in a field as well, for which Nest calls no filters', async () => {
    await start();
    const locks = app.get(RedisLockService);
    await using _lock = await locks.acquire('product:2');
    const { errors, data } = await ask('{ products { id price } }');
    expect(data).toBeFalsy();
    expect(errors).toEqual([
      expect.objectContaining({
        path: ['products', 2, 'price'],
        extensions: expect.objectContaining({ code: 'LOCK_CONTENDED' }),
      }),
    ]);
  });

  it("hides the details of a field's lock with fieldResolverEnhancers: ['filters'], too", async () => {
    await start({ fieldResolverEnhancers: ['filters', 'interceptors'] });
    await using _lock = await app.get(RedisLockService).acquire('product:2');
    const { errors } = await ask('{ products { id price } }');
    expect(errors).toEqual([
      expect.objectContaining({
        message: 'The resource is in use. Try again later.',
        extensions: expect.objectContaining({ code: 'LOCK_CONTENDED', retryAfter: 1000 }),
      }),
    ]);
  });

  it.each([[[]], [['interceptors']]] as const)(
    'makes fields of one request that are resolved in parallel exclude one another (enhancers %j)',
    async (enhancers) => {
      await start({ fieldResolverEnhancers: [...enhancers] });
      const { data } = await ask('{ products { id stock } }');
      expect(data).toEqual({
        products: [1, 1, 2].map((id) => ({ id, stock: `product:${id}` })),
      });
      const ofOne = Products.events.filter((event) => event.endsWith('1'));
      expect(ofOne).toEqual(['in 1', 'out 1', 'in 1', 'out 1']);
    },
  );

  it('holds the lock of a subscription that is an async generator until its client disconnects', async () => {
    await start();
    const { schema } = app.get(GraphQLSchemaHost);
    const events = await subscribe({ schema, document: parse('subscription { prices }'), contextValue: {} });
    if (!(Symbol.asyncIterator in events)) throw new Error(JSON.stringify(events));
    const locks = app.get(RedisLockService);
    const first = (await events.next()).value as ExecutionResult;
    expect(first.data).toEqual({ prices: 'prices' });
    await expect(locks.tryAcquire('prices')).resolves.toBeNull();
    await events.return(undefined);
    await using lock = await locks.acquire('prices');
    expect(lock.isHeld).toBe(true);
  });

  it.each([[[]], [['interceptors']]] as const)(
    'shares with no request the hold that its server was started in, also in fields (enhancers %j)',
    async (enhancers) => {
      await create({ fieldResolverEnhancers: [...enhancers] });
      await app.init();
      await app.get(RedisLockService).using('product:1', async () => {
        await app.listen(0, '127.0.0.1');
        for (const query of ['{ product(id: 1) { id } }', '{ products { id price } }']) {
          const { errors } = await ask(query);
          expect(errors?.map(({ extensions }) => extensions['code'])).toContain('LOCK_CONTENDED');
        }
      });
      expect((await ask('{ product(id: 1) { held } }')).data).toEqual({ product: { held: 'product product:1' } });
    },
  );
});
