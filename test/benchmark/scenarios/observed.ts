import type { CyclesResult } from '../client/cycles.task.js';
import { ours } from '../drivers/ours.js';
import { withMetrics, withTraces } from '../drivers/observed.js';
import { type Bar, atLeast, ratio } from '../report/bars.js';
import type { Results } from '../report/results.js';
import { interleaved, scaled, type Stage, withClients } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'observed';
const flows = 64;
const variant = `${flows} flows, each lock free`;
const drivers = [ours, withMetrics, withTraces];

/** The same cycles without a subscriber, with metrics, and with a span of each request and each hold besides. */
async function play(stage: Stage): Promise<void> {
  await withClients(stage, drivers, stage.redis.url, {}, (clients) =>
    interleaved(stage, { scenario, variant }, clients, async (client) => {
      const { cycles, seconds, cpu }: CyclesResult = await client.do('cycles', { flows, time: scaled(stage, 1000) });
      return { cyclesPerSecond: cycles / seconds, clientCpu: cpu / cycles };
    }),
  );
}

function bars(results: Results): Bar[] {
  const rate = (driver: string) => results.value(scenario, variant, driver, 'cyclesPerSecond');
  return [
    atLeast('64 flows with metrics: cycles/s against none', 0.95, ratio(rate(withMetrics.name), rate(ours.name))),
  ];
}

export const observed: Scenario = {
  name: scenario,
  title: 'Observed by OpenTelemetry',
  columns: [
    { key: 'cyclesPerSecond', title: 'cycles/s' },
    { key: 'clientCpu', title: 'client CPU µs', digits: 1 },
  ],
  play,
  bars,
};
