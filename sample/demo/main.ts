import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisForThisRun } from '../../test/support/redis-process.mjs';
import { runCommand } from '../command.js';
import { javaOffice, NotHere } from './java-office.js';
import { type DemoOptions, help, readOptions } from './options.js';
import { Progress } from './progress.js';
import { asText, report } from './report.js';
import { runSales } from './run-sales.js';
import { serveSale } from '../web/main.js';

async function demo(options: DemoOptions, signal: AbortSignal): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'ticket-sale-'));
  const redis = await redisForThisRun();
  try {
    using progress = new Progress(process.stderr);
    if (options.java) progress.step('building the box office in Java');
    const startJava = options.java ? await javaOffice(directory) : undefined;
    const databaseUrl = process.env['DATABASE_URL'] || undefined;
    const database = { databaseUrl, databaseFile: join(directory, 'sale.sqlite') };
    const sales = await runSales({ options, database, redisUrl: redis.url, startJava, progress, signal });
    const result = report(options, databaseUrl ? 'postgres' : 'sqlite', sales);
    progress.clear();
    console.log(options.json ? JSON.stringify(result, null, 2) : asText(result));
    return result.ok;
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    console.error(error.message);
    return false;
  } finally {
    await redis.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

await runCommand(help, async (args, signal) => {
  const options = readOptions(args);
  if (!options.help && !options.web) return demo(options, signal);
  if (options.help) console.log(help);
  else await serveSale(options, signal);
  return true;
});
