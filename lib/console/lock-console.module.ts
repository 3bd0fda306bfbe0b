import { type DynamicModule, Module } from '@nestjs/common';
import { located } from '../errors/configuration.js';
import { consoleController } from './console.controller.js';
import { type LockConsoleOptions, resolveConsoleOptions } from './console.options.js';
import { consoleOptionsToken, LockConsole } from './lock-console.js';

let definitions = 0;

/** A live page that shows who holds and who waits for which lock in the fleet: behind guards of the application, and read-only by default. */
@Module({})
export class LockConsoleModule {
  /**
   * @throws LockConfigurationError at once without `guards`, and for a wrong or unknown option; at start for a connection that does not
   * exist.
   */
  static forRoot(options: LockConsoleOptions): DynamicModule {
    const resolved = located('LockConsoleModule.forRoot', () => resolveConsoleOptions(options));
    const controller = located('LockConsoleModule.forRoot', () => consoleController(resolved));
    // Numbered: Nest may identify modules by the text of their definitions.
    const numbered = { definition: ++definitions };
    return {
      module: LockConsoleModule,
      imports: resolved.imports,
      controllers: [controller],
      providers: [
        LockConsole,
        { ...numbered, provide: consoleOptionsToken, useFactory: () => () => ({ ...resolved, controller }) },
      ],
    };
  }
}
