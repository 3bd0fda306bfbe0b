import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';

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
