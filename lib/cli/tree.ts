import { escaped } from '../errors/describe.js';
import { Turns } from '../diagnostics/turns.js';
import { type DeadlockStep, type WaitedLock, type WaitTree, waitTree } from '../operators/wait-tree.js';
import { type Arguments, noNames, numberIn } from './arguments.js';
import { viewLines as texts } from './cli.messages.js';
import { observe } from './connect.js';
import { exitCode } from './exit-codes.js';
import { heldText, json, type Paint, paintFor, partyText, print, processText, say, time, tokenText } from './output.js';

/** Who waits for whom, as the processes of the fleet tell it: the same picture as in the console. */
export async function tree(given: Arguments): Promise<number> {
  noNames('tree', given);
  const limit = numberIn(given, 'limit') ?? 1_000;
  await using connected = await observe(given);
  const { connection } = connected;
  const terms = { ...connection.defaults, wait: 0 };
  const { total, processes } = await connection.inspect(undefined, ({ activity }) => activity.fleet(limit), terms);
  const seen = await waitTree(processes, new Turns());
  if (given.options['json']) print(json(seen));
  else for (const line of linesOf(seen, paintFor(given.options))) print(line);
  if (total > processes.length) say(texts.moreProcesses(total - processes.length));
  return exitCode.ok;
}

export function linesOf({ roots, circles, deadlocks, more, leftOut }: WaitTree, paint: Paint): string[] {
  if (roots.length === 0) return [texts.noWaits()];
  const lines: string[] = [];
  const branch = ({ key, holder, isRepeated, waiters, moreWaiters }: WaitedLock, indent: string): void => {
    const held = holder ? heldText(holder) + tokenText(holder) : '';
    lines.push(`${indent}holds ${paint.bold(escaped(key))}${held}${isRepeated ? ' …' : ''}`);
    for (const waiter of waiters) {
      const callers = waiter.callers > 1 ? `, with ${waiter.callers - 1} behind it` : '';
      const mark = waiter.isDeadlock ? paint.red(' (deadlock)') : '';
      lines.push(`${indent}  ${partyText(waiter)} waits for ${time(waiter.longest)}${callers}${mark}`);
      for (const blocked of waiter.blocks) branch(blocked, `${indent}    `);
    }
    if (moreWaiters > 0 && !isRepeated) lines.push(paint.dim(`${indent}  ${texts.moreWaiters(moreWaiters)}`));
  };
  let last: string | undefined;
  for (const root of roots) {
    const process = root.holder ? processText(root.holder) : texts.unknownHolder();
    if (process !== last) lines.push(paint.bold(process));
    last = process;
    branch(root, '  ');
  }
  for (const circle of circles) lines.push(paint.red(texts.deadlock(circle.map(stepText).join('; '))));
  if (deadlocks > circles.length) lines.push(paint.red(texts.moreDeadlocks(deadlocks - circles.length)));
  if (more > 0 || leftOut > 0) lines.push(paint.dim(texts.notShown(more, leftOut)));
  return lines;
}

const stepText = (step: DeadlockStep): string =>
  `${partyText(step)} holds ${escaped(step.holds.key)} and waits for ${escaped(step.waitsFor.key)}`;
