import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './redis-server.js';

export const hasPrometheus = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0);

/** A series of a result: its labels and its value. */
interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly alerts: ReadonlyArray<{ readonly state: string; readonly labels: Readonly<Record<string, string>> }>;
}

/** A real Prometheus on this machine, with data of its own. */
export class PrometheusServer implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    readonly url: string,
  ) {}

  /** @param targets host and port of what it scrapes, five times a second; @param rules a file of alerts */
  static async start(targets: readonly string[], rules: string): Promise<PrometheusServer> {
    const directory = mkdtempSync(join(tmpdir(), 'prometheus-'));
    const config = join(directory, 'prometheus.yml');
    // JSON is YAML.
    const settings = {
      global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
      rule_files: [rules],
      scrape_configs: [{ job_name: 'sale', static_configs: [{ targets }] }],
    };
    writeFileSync(config, JSON.stringify(settings));
    const address = `127.0.0.1:${await freePort()}`;
    const data = `--storage.tsdb.path=${join(directory, 'data')}`;
    const args = [`--config.file=${config}`, data, `--web.listen-address=${address}`, '--log.level=warn'];
    const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const server = new PrometheusServer(child, directory, `http://${address}`);
    const isReady = () =>
      fetch(`${server.url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isReady())) {
      if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return server;
  }

  /** @throws when Prometheus cannot evaluate the expression */
  async query(expr: string): Promise<readonly Series[]> {
    const { result } = await this.get<{ result: readonly Series[] }>('query', new URLSearchParams({ query: expr }));
    return result;
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = await this.get<{ groups: ReadonlyArray<{ rules: readonly Rule[] }> }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async get<T>(what: string, body?: URLSearchParams): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${what}`, body && { method: 'POST', body });
    const { data, error } = (await response.json()) as { data?: T; error?: string };
    if (!data) throw new Error(`${error} (${body?.get('query')})`);
    return data;
  }
}
