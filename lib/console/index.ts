export { LockConsoleModule } from './lock-console.module.js';
export type {
  LockConsoleForceRelease,
  LockConsoleGuards,
  LockConsoleOptions,
  LockConsoleText,
} from './console.options.js';
