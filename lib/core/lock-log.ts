/** Where the engine tells what a person should know. Nest's `Logger` fits. */
export interface LockLog {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
