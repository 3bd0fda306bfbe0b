import 'reflect-metadata';
import { readFileSync } from 'node:fs';
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
  it('exports at most 49 names: what an application writes', () => {
    const names = ['index.ts', 'locks.ts'].flatMap((file) => {
      const path = join(import.meta.dirname, '..', '..', 'lib', file);
      const { statements } = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2023, true);
      return statements.flatMap((statement) => {
        if (!ts.isExportDeclaration(statement)) return [`not a list of names: ${ts.SyntaxKind[statement.kind]}`];
        const { exportClause } = statement;
        if (exportClause && ts.isNamedExports(exportClause)) return exportClause.elements.map(({ name }) => name.text);
        return statement.getText().includes("'./locks.js'") ? [] : [`not a list of names: ${statement.getText()}`];
      });
    });
    expect(names).toContain('RedisLockModule');
    expect(names.length).toBeLessThanOrEqual(49);
  });
});
