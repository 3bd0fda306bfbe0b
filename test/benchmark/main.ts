import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chart } from './report/chart.js';
import { merge } from './report/merge.js';
import { Results } from './report/results.js';
import { report } from './report/table.js';
import { fleetConsole } from './scenarios/console.js';
import { crash } from './scenarios/crash.js';
import { decorated } from './scenarios/decorated.js';
import { fleet } from './scenarios/fleet.js';
import { hotName } from './scenarios/hot-name.js';
import { hotProcesses } from './scenarios/hot-processes.js';
import { imports } from './scenarios/imports.js';
import { observed } from './scenarios/observed.js';
import { quorum } from './scenarios/quorum.js';
import { redisson } from './scenarios/redisson.js';
import { names } from './scenarios/names.js';
import { relay } from './scenarios/relay.js';
import { renewed } from './scenarios/renewed.js';
import type { Scenario } from './scenarios/scenario.js';
import { uncontended } from './scenarios/uncontended.js';
import { placement } from './stage/cores.js';
import { BenchRedis } from './stage/redis.js';

const scenarios: readonly Scenario[] = [
  fleet,
  uncontended,
  hotName,
  hotProcesses,
  relay,
  renewed,
  names,
  crash,
  decorated,
  observed,
  quorum,
  redisson,
  imports,
  fleetConsole,
];

const usage = `npm run bench -- [options]
  --only <scenario>   one of ${scenarios.map(({ name }) => name).join(', ')}; may be given several times
  --quick             one short round of everything: to see that it runs, not to be believed
  --json <file>       every measured value and every bar as a line of JSON, added to the file
  --write             the tables to docs/operate/performance-tables.md and the chart to docs/pictures/performance.svg;
                      with --only the tables of those scenarios
  --strict            exit code 1 when a bar is missed or was not measured`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const unknown = options.only?.filter((name) => !scenarios.some((scenario) => scenario.name === name)) ?? [];
if (options.help || unknown.length > 0) {
  console.log(unknown.length > 0 ? `no such scenario: ${unknown.join(', ')}\n${usage}` : usage);
  process.exit(unknown.length > 0 ? 1 : 0);
}

const chosen = scenarios.filter(({ name }) => options.only?.includes(name) ?? true);
const results = new Results();
const start = performance.now();
const redis = await BenchRedis.start();
const machine = `${new Date().toISOString().slice(0, 10)}; ${cpus().length} × ${cpus()[0]!.model.trim()}; Node ${process.versions.node}; Redis ${await redis.version()}; ${placement}.${
  options.quick ? '\n\n**A quick run: one short round of everything, and fewer names. Not to be believed.**' : ''
}`;
try {
  for (const scenario of chosen) {
    const missing = scenario.missing?.();
    if (missing !== undefined) {
      console.error(`${scenario.name} is not measured: ${missing}`);
      continue;
    }
    await redis.empty();
    await scenario.play({
      redis,
      results,
      rounds: options.quick ? 1 : 3,
      scale: options.quick ? 0.2 : 1,
      tell: (line) => console.error(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${line}`),
    });
  }
} finally {
  await redis.stop();
}

const bars = chosen.flatMap((scenario) => scenario.bars(results));
const tables = report(results, chosen, bars, machine);
console.log(tables);
if (options.json) {
  const lines = [{ machine, quick: options.quick }, ...results.samples, ...bars.map((bar) => ({ bar }))];
  appendFileSync(options.json, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
if (options.write) {
  const docs = join(import.meta.dirname, '..', '..', 'docs');
  const page = join(docs, 'operate', 'performance-tables.md');
  if (options.only) {
    if (results.samples.length > 0) writeFileSync(page, merge(readFileSync(page, 'utf8'), tables));
  } else {
    writeFileSync(page, `<!-- Written by npm run bench -- --write -->\n\n${tables}`);
    writeFileSync(join(docs, 'pictures', 'performance.svg'), chart(results));
  }
}
if (options.strict && bars.some(({ passes }) => !passes)) process.exitCode = 1;
