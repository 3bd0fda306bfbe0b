import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

/** Debian's chromium, or another one (CHROMIUM). Undefined when there is none: tests of pages then skip, and say so. */
export const chromiumPath: string | undefined =
  process.env['CHROMIUM'] ?? (spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout?.trim() || undefined);

/** Without the sandbox: CI runs as root, and the pages are our own. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
