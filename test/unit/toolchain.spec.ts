import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import ts from 'typescript';

class Dependency {}

@Injectable()
class Service {
  constructor(readonly dependency: Dependency) {}
}

describe('toolchain', () => {
  it('loads Nest 12 (ESM only) and keeps the decorator metadata that injection needs', () => {
    expect(Reflect.getMetadata('design:paramtypes', Service)).toEqual([Dependency]);
  });
});

describe('the main entry', () => {
  it('exports at most 21 values, and at most 63 types: what an application writes, or its compiler', () => {
    const exported = ['index.ts', 'connection/index.ts'].flatMap((file) => {
      const path = join(import.meta.dirname, '..', '..', 'lib', file);
      const { statements } = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2023, true);
      return statements.flatMap((statement) => {
        if (!ts.isExportDeclaration(statement)) throw new Error(`no list of names: ${ts.SyntaxKind[statement.kind]}`);
        const { exportClause, isTypeOnly } = statement;
        if (exportClause && ts.isNamedExports(exportClause))
          return exportClause.elements.map((each) => ({ name: each.name.text, isType: isTypeOnly || each.isTypeOnly }));
        if (statement.getText().includes("'./connection/index.js'")) return [];
        throw new Error(`no list of names: ${statement.getText()}`);
      });
    });
    const values = exported.filter(({ isType }) => !isType).map(({ name }) => name);
    expect(values).toContain('RedisLockModule');
    expect(values.length).toBeLessThanOrEqual(21);
    expect(exported.length - values.length).toBeLessThanOrEqual(63);
  });
});

it('tests that look inside lib beside the rule for all others still do: the list gets shorter', () => {
  const root = join(import.meta.dirname, '..', '..');
  const { forbidden } = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
    forbidden: ReadonlyArray<{ name: string; from: { pathNot?: readonly string[] } }>;
  };
  const { from } = forbidden.find(({ name }) => name === 'tests-use-the-front-door')!;
  const files = from.pathNot!.map((pattern) => pattern.replaceAll(/[\\^$]/g, ''));
  expect(files.length).toBeLessThanOrEqual(10);
  expect(files.filter((file) => !readFileSync(join(root, file), 'utf8').includes('/lib/'))).toEqual([]);
});
