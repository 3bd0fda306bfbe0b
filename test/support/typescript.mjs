/**
 * Compiles one TypeScript file for jest, by the compiler that users have: SWC writes another `design:returntype` for async generators.
 * All jest projects share what is compiled. (ts-jest's cache belongs to one project: a fresh clone would compile lib for each of them.)
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import ts from 'typescript';

const { config } = ts.readConfigFile(join(import.meta.dirname, '..', '..', 'tsconfig.json'), ts.sys.readFile);
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');
const compilerOptions = {
  ...options,
  module: ts.ModuleKind.ESNext,
  sourceMap: false,
  inlineSourceMap: true,
  noEmit: false,
};
const settings = JSON.stringify([ts.version, compilerOptions]);

export default {
  /** @param {string} source @param {string} path */
  process: (source, path) => ({
    code: ts.transpileModule(source, { fileName: path, compilerOptions }).outputText,
  }),

  /** @param {string} source @param {string} path */
  getCacheKey: (source, path) =>
    createHash('sha1').update(settings).update('\0').update(path).update('\0').update(source).digest('hex'),
};
