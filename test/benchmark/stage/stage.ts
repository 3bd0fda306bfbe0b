import type { Driver } from '../drivers/driver.js';
import type { Results, Values } from '../report/results.js';
import { Client } from './client.js';
import type { BenchRedis } from './redis.js';

/** What the scenarios play on. */
export interface Stage {
  readonly redis: BenchRedis;
  readonly results: Results;
  /** Rounds of everything; `few` where one round tells enough. */
  readonly rounds: number;
  /** Shortens every measured time and every count. */
  readonly scale: number;
  tell(line: string): void;
}

let count = 0;

/** How long to measure, ms: the full time, scaled, but long enough to see anything. */
export const scaled = ({ scale }: Stage, time: number, least = 100): number => Math.max(least, time * scale);

/** One process for each driver (or several), closed at the end in any case. */
export async function withClients<T>(
  stage: Pick<Stage, 'scale'>,
  drivers: readonly Driver[],
  url: string,
  { lease, processes = 1, warm = warmUp }: { lease?: number; processes?: number; warm?: typeof warmUp },
  play: (clients: Map<Driver, Client[]>) => Promise<T>,
): Promise<T> {
  const clients = new Map<Driver, Client[]>();
  try {
    for (const driver of drivers) {
      const started: Client[] = [];
      clients.set(driver, started);
      await Promise.all(
        Array.from({ length: processes }, async () => started.push(await Client.start(driver, url, { lease }))),
      );
      await warm(started, stage);
    }
    return await play(clients);
  } finally {
    await Promise.all([...clients.values()].flat().map((client) => client.close()));
  }
}

/**
 * A server is warm. By work, not by time: what runs a thousand times a second is interpreted for seconds, and the compiler shares
 * the client's core.
 */
async function warmUp(clients: readonly Client[], stage: Pick<Stage, 'scale'>): Promise<void> {
  await Promise.all(clients.map((client) => warmUpOne(client, stage)));
}

async function warmUpOne(client: Client, { scale }: Pick<Stage, 'scale'>): Promise<void> {
  await client.do('cycles', { flows: 64, cycles: 20_000 * scale, time: 3_000 * scale });
  await client.do('cycles', { flows: 1, cycles: 3_000 * scale, time: 1_000 * scale });
  const name = `bench:warm:${count++}`;
  await client.do('hot', { name, waiters: 16, inside: 0, time: 500 * scale, startAt: Date.now() + 5 });
}

/** A B C A B C: each driver once in each round, so that a disturbance of the machine affects all of them. */
export async function interleaved(
  stage: Stage,
  { scenario, variant, rounds = stage.rounds }: { scenario: string; variant: string; rounds?: number },
  clients: Map<Driver, Client[]>,
  measure: (client: Client, driver: Driver, all: readonly Client[], round: number) => Promise<Values | undefined>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const [driver, all] of clients) {
      const values = await measure(all[0]!, driver, all, round);
      if (values) stage.results.add({ scenario, variant, driver: driver.name, round, values });
    }
  }
  stage.tell(`${scenario}: ${variant}`);
}
