import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisForThisRun } from '../../scripts/redis-server.mjs';
import { type DemoOptions, help, readOptions, UsageError } from './options.js';
import { Progress } from './progress.js';
import { asText, report } from './report.js';
import { runSales } from './run-sales.js';

async function demo(options: DemoOptions, signal: AbortSignal): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'ticket-sale-'));
  const redis = await redisForThisRun();
  try {
    using progress = new Progress(process.stderr);
    const databaseUrl = process.env['DATABASE_URL'] || undefined;
    const database = { databaseUrl, databaseFile: join(directory, 'sale.sqlite') };
    const sales = await runSales({ options, database, redisUrl: redis.url, progress, signal });
    const result = report(options, databaseUrl ? 'postgres' : 'sqlite', sales);
    progress.clear();
    console.log(options.json ? JSON.stringify(result, null, 2) : asText(result));
    return result.ok;
  } finally {
    await redis.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

const interrupt = new AbortController();
// More than once: a terminal sends Ctrl-C to every process of the group, and a launcher passes it on.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(help);
  else if (!(await demo(options, interrupt.signal))) process.exitCode = 1;
} catch (error) {
  if (interrupt.signal.aborted) process.exitCode = 130;
  else {
    console.error(error instanceof UsageError ? `${error.message}\n\n${help}` : error);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
