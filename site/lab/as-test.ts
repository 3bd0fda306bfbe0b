import type { Lab } from './lab.js';
import type { Action, Job } from './scene.js';

/** The steps of a lab as a test of a user: the same processes, on the LockTestBed of nestjs-redis-lock/testing. */
export function asTest(lab: Lab): string {
  const { scene, actions, settings } = lab;
  const used = scene.processes.filter((name) => actions.some((action) => 'who' in action && action.who === name));
  const { outcomes, rows } = lab.ending;
  const holders = lab.keys.map((key) => [key, lab.server.inspect(key).holders.map(({ client }) => client)] as const);
  const ended = Object.fromEntries(used.map((name) => [name, outcomes[name]]));
  return `import { describe, expect, it } from '@jest/globals';
import { LockTestBed, type OtherProcess } from 'nestjs-redis-lock/testing';

/** A row that checks fencing tokens: ${settings.fencing === 'off' ? 'no, it takes every write' : settings.fencing}. */
class Row {
  value = 0;
  refused = 0;
  lost = 0;
  private fence = 0;

  check(token: number): void {
    if (token < this.fence) {
      this.refused++;
      throw Object.assign(new Error('a later holder was here'), { code: 'refused' });
    }
    this.fence = token;
  }

  write(read: number): void {
    if (this.value !== read) this.lost++;
    this.value = read + 1;
  }
}

describe(${text(scene.title)}, () => {
  it('ends as in the lab', async () => {
    const bed = new LockTestBed();
    const rows = { ${lab.keys.map((key) => `${text(key)}: new Row()`).join(', ')} };
    const outcomes: Record<string, string[]> = { ${used.map((name) => `${name}: []`).join(', ')} };
    const options = { lease: ${settings.lease}, renew: ${settings.renew} };
    const start = (name: string, job: () => Promise<void>): void => {
      const tell = (outcome: string) => outcomes[name]!.push(outcome);
      job().then(
        () => tell('done'),
        (error: { code: string }) => tell(error.code),
      );
    };
${jobsOf(lab).join('\n')}
${used.map((name) => `    const ${name} = bed.otherProcess(${text(name)});`).join('\n')}
${used.length > 1 ? connectionsOf(used, lab.keys[0]!) : ''}

${stepsOf(actions)}

    expect(outcomes).toEqual(${value(ended)});
${lab.keys.map((key) => `    expect(rows[${text(key)}]).toMatchObject(${value(pictureOf(rows[key]!))});`).join('\n')}
${holders.map(([key, names]) => `    expect(bed.inspect(${text(key)}).holders.map(({ client }) => client)).toEqual(${value(names)});`).join('\n')}
  });
});
`;
}

const connectionsOf = (processes: readonly string[], key: string): string =>
  `    // They connect: after an outage the first one hears of it first.
    await bed.until(Promise.all([${processes.join(', ')}].map((one) => one.inspect(${text(key)}))));
`;

const pictureOf = ([rowValue, refused, lost]: readonly [number, number, number]): object => ({
  value: rowValue,
  refused,
  lost,
});

/** Time that passes settles first: no need to say so twice. */
const stepsOf = (actions: readonly Action[]): string =>
  actions
    .map((action) => `    ${lineOf(action)}`)
    .join('\n')
    .replaceAll(/await bed\.advance\(0\);\n\s+await bed\.advance/g, 'await bed.advance');

/** One function for each job that was started. */
function jobsOf({ scene, actions, settings }: Lab): string[] {
  const used = new Set(actions.flatMap((action) => (action.do === 'start' ? [action.job ?? 'default'] : [])));
  return [...used].map((name) => {
    const job = scene.jobs[name]!;
    const kind = job.kind === 'shared' ? ', shared: true' : job.kind ? `, limit: ${job.kind.limit}` : '';
    const call = (keys: string, body: string, indent: string): string =>
      `one.using(${keys}, { ...options, wait: ${job.wait}${kind} }, async (${body.includes('lock.') ? 'lock' : ''}) => {\n${body}\n${indent}})`;
    const keys = job.keys.length === 1 ? text(job.keys[0]!) : value(job.keys);
    const body = job.nested
      ? nested(job, call, settings.fencing)
      : call(keys, workOf(job, '      ', settings.fencing), '    ');
    return `    const ${functionOf(name)} = (one: OtherProcess) => (): Promise<void> =>\n      ${body};`;
  });
}

function workOf({ keys, work, kind }: Job, indent: string, fencing: string, tokenOf = token): string {
  const line = (code: string): string => `  ${indent}${code}`;
  if (kind) return line(`await one.sleep(${work});`);
  const check = (key: string): string => line(`rows[${text(key)}].check(${tokenOf(key)});`);
  return [
    ...(fencing === 'before the read' ? keys.map(check) : []),
    line(`const read = [${keys.map((key) => `rows[${text(key)}].value`).join(', ')}];`),
    line(`await one.sleep(${work});`),
    ...keys.flatMap((key, index) => [
      ...(fencing === 'off' ? [] : [check(key)]),
      line(`rows[${text(key)}].write(read[${index}]!);`),
    ]),
  ].join('\n');
}

const token = (key: string): string => `lock.fencingTokens.get(${text(key)})!`;

function nested(job: Job, call: (keys: string, body: string, indent: string) => string, fencing: string): string {
  const [outer, inner] = job.keys;
  const tokenOf = (key: string): string => (key === inner ? 'lock.fencingToken' : 'outer.fencingToken');
  const inside = call(text(inner!), workOf(job, '        ', fencing, tokenOf), '        ');
  return call(text(outer!), `        await one.sleep(${job.work});\n        return ${inside};`, '      ').replace(
    'async (lock)',
    'async (outer)',
  );
}

function lineOf(action: Action): string {
  switch (action.do) {
    case 'wait':
      return `await bed.advance(${action.ms});`;
    case 'start':
      return `start(${text(action.who)}, ${functionOf(action.job ?? 'default')}(${action.who}));\n    await bed.advance(0);`;
    case 'stop':
    case 'continue':
    case 'kill':
      return `${action.who}.${action.do}();\n    await bed.advance(0);`;
    case 'lose-message':
      return 'bed.faults.loseHandOffs();';
    case 'redis-away':
      return "bed.faults.unavailable('20d');\n    await bed.advance(0);";
    case 'redis-back':
      return 'bed.faults.unavailable(1);\n    await bed.advance(1);';
    case 'delete':
      return `bed.faults.lose(${text(action.key)});`;
    case 'force':
      return `await bed.until(bed.otherProcess('operator').forceRelease(${text(action.key)}));`;
    case 'clock':
      return `bed.faults.setClockForward(${action.ms});`;
  }
}

/** The name of a job as a name of a function: `x and y` is xAndY. */
const functionOf = (job: string): string =>
  job === 'default' ? 'work' : job.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase());

const text = (value: string): string => `'${value}'`;

const value = (data: unknown): string => JSON.stringify(data).replaceAll('"', "'");
