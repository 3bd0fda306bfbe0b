import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, jest } from '@jest/globals';
import { type ArgumentsHost, Logger } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import {
  LockConfigurationError,
  type LockError,
  LockErrorFilter,
  LockKindMismatchError,
  LockLostError,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockUpgradeError,
  LockWaitTimeoutError,
} from '../../../lib/index.js';

const classes = {
  LockConfigurationError,
  LockKindMismatchError,
  LockLostError,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockUpgradeError,
  LockWaitTimeoutError,
};

const root = fileURLToPath(new URL('../../../', import.meta.url));
const text = readFileSync(join(root, 'docs/reference/errors.md'), 'utf8');

const lib = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join(root, 'lib', file), 'utf8'))
  .join('\n')
  // Text that is put together from several literals reads on.
  .replaceAll(/[`'"]\s*\+\s*[`'"]/g, '');

const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Table rows whose first cell is code. */
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map(cellsOf);

/** `### code`, its meaning, and a last line: `Class` · HTTP 409 · … */
const codes = [...text.matchAll(/^### `(LOCK_\w+)`\n(?:(?!^### ).*\n)*?`(\w+)`[^·\n]* · HTTP (\d+) · /gm)].map(
  ([, code, type, http]) => ({ code: code!, type: type as keyof typeof classes, http: Number(http) }),
);

const members = (type: string): string[] =>
  [...new RegExp(`type ${type} =([^;]+);`).exec(lib)![1]!.matchAll(/'([^']+)'/g)].map((match) => match[1]!).sort();

describe('docs/reference/errors.md', () => {
  it('lists every code, and no other', () => {
    expect(codes.map(({ code }) => code).sort()).toEqual(members('LockErrorCode'));
  });

  it('lists every reason of a loss, and no other', () => {
    const reasons = rows
      .filter((row) => row.length === 3 && /^`[a-z-]+`$/.test(row[0]!))
      .map(([reason]) => reason!.slice(1, -1));
    expect(reasons.sort()).toEqual(members('LockLostReason'));
  });

  it('names class and HTTP status of every code, as LockErrorFilter sends them', () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    for (const { code, type, http } of codes) {
      const reply = jest.fn();
      const httpAdapter = { isHeadersSent: () => false, setHeader: () => undefined, reply };
      const filter = new LockErrorFilter({ httpAdapter } as unknown as HttpAdapterHost);
      const error = new (classes[type] as new (message: string, options: object) => LockError)('x', {
        reason: 'expired',
      });
      const host = { getType: () => 'http', switchToHttp: () => ({ getResponse: () => ({}) }) };
      filter.catch(error, host as unknown as ArgumentsHost);
      expect([error.code, error.statusCode, reply.mock.calls[0]?.[2]]).toEqual([code, http, http]);
    }
    jest.restoreAllMocks();
  });
});
