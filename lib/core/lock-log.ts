/** Where the engine logs. Nest's `Logger` fits. */
export interface LockLog {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
