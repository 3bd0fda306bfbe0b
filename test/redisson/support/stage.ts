import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { withPoll } from '../../support/backends.js';
import { until } from './observations.js';
import { Peer, type PeerProgram, sharingPeer, watchdog } from './peer.js';
import { listenersOf, type Site } from './sites.js';

/** Longer than any test waits: a waiter that is woken by its poll alone fails. */
export const noPoll = 600_000;

export const unique = (): string => `product:${randomUUID()}`;

/** A client of this library and a process of Redisson at one place, for the tests of the describe that makes it. */
export class Stage {
  site!: Site;
  redis!: Redis | Cluster;
  java!: Peer;
  client!: RedisLockClient;
  /** They end with the test. */
  readonly extra: AsyncDisposable[] = [];
  private program!: PeerProgram;

  constructor(open: () => Promise<PeerProgram>, start: () => Promise<Site>) {
    beforeAll(async () => {
      this.program = await open();
      this.site = await start();
      this.redis = this.site.redis;
      [this.java, this.client] = [
        await Peer.start(this.program, this.site.address, this.site.mode),
        await this.newClient(),
      ];
    }, 300_000);
    afterEach(async () => {
      await Promise.all(this.extra.splice(0).map((peer) => peer[Symbol.asyncDispose]()));
    });
    afterAll(async () => {
      await this.client.close();
      await this.java.kill();
      await this.site.stop();
    });
  }

  async newClient(options: object = {}, poll = noPoll): Promise<RedisLockClient> {
    const log = { log: () => undefined, warn: () => undefined, error: () => undefined };
    const made = createLockClient(
      withPoll(poll, { ...this.site.connection, redisson: true, lease: watchdog, log, ...options }),
    );
    await made.connect();
    return made;
  }

  async startNode(options: object = {}): Promise<Peer> {
    const node = await Peer.start(sharingPeer({ poll: noPoll, ...options }), this.site.address, this.site.mode);
    this.extra.push(node);
    return node;
  }

  async startJava(): Promise<Peer> {
    const peer = await Peer.start(this.program, this.site.address, this.site.mode);
    this.extra.push(peer);
    return peer;
  }

  listened(name: string): Promise<void> {
    return until(async () => (await listenersOf(this.site, name)) > 0);
  }

  async free(name: string): Promise<boolean> {
    return (await this.redis.exists(name)) === 0;
  }
}
