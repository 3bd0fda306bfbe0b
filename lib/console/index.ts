export { LockConsoleModule } from './lock-console.module.js';
export type {
  LockConsoleDecorators,
  LockConsoleForceRelease,
  LockConsoleGuards,
  LockConsoleOptions,
  LockConsoleText,
} from './console.options.js';
