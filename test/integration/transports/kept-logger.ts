import type { LoggerService } from '@nestjs/common';

/** Nest's logger in a test: prints nothing, keeps the lines, and resolves the promises that wait for one. */
export class KeptLogger implements LoggerService {
  readonly errors: string[] = [];
  private readonly waiting = new Set<{ part: string; resolve: (line: string) => void }>();

  log(): void {}
  warn(): void {}
  debug(): void {}

  /** @param first a message, or an Error; @param rest stack and context, the latter comes last. */
  error(first: unknown, ...rest: unknown[]): void {
    const line = `[${String(rest.at(-1))}] ${first instanceof Error ? first.message : String(first)}`;
    this.errors.push(line);
    for (const waiter of this.waiting) {
      if (!line.includes(waiter.part)) continue;
      this.waiting.delete(waiter);
      waiter.resolve(line);
    }
  }

  /** The first error, logged already or later, that has this part. Rejects after 10 s, so that a test which fails still cleans up. */
  async errorWith(part: string): Promise<string> {
    const told = this.errors.find((line) => line.includes(part));
    if (told !== undefined) return told;
    const untold = AbortSignal.timeout(10_000);
    return new Promise((resolve, reject) => {
      this.waiting.add({ part, resolve });
      untold.addEventListener('abort', () =>
        reject(new Error(`no error with '${part}', but: ${this.errors.join('; ')}`)),
      );
    });
  }
}
