import type { OnApplicationBootstrap } from '@nestjs/common';
import type { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { Hidden } from '../../errors/describe.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { isSilenced } from '../request/application-filter.js';
import { instancesOf } from '../base/instances.js';
import type { LockConnection } from '../../connection/lock.connection.js';
import { findCatchAll } from './catch-all.check.js';
import { applicationFindings, doctorRefusals } from './doctor.messages.js';
import { type FindingLog, lineOf } from './finding-log.js';
import { findHidden } from './hidden-lock.check.js';
import { findLongWaits } from './http-timeout.check.js';
import { type ProvidedMethod, providedMethods } from '../method/method-wrapper.js';
import { findMinified } from './minified-template.check.js';
import { httpServerOf, serverTimeout } from './server-timeout.reader.js';
import { findScheduled } from './scheduled-lock.check.js';
import { findNoShutdown } from './shutdown.check.js';
import { checkParts } from './own-checks.js';
import { findUnprovided } from './unprovided.check.js';

/** Connections, and whole applications: each connection has a doctor, and a second one where a test replaces it. */
const examined = new WeakSet<object>();
/** Milliseconds that an application has to enable its shutdown hooks after it begins to listen. */
const settlingTime = 1000;

interface Application {
  readonly modules: ModulesContainer;
  readonly host: HttpAdapterHost;
  readonly config: ApplicationConfig;
}

/**
 * Checks the application once, after each module's `onModuleInit` has run (libraries wrap methods there), and the server of its locks.
 * Reports what will go wrong later. Delays the start by one `commandTimeout` at most.
 */
export class LockDoctor implements OnApplicationBootstrap {
  private readonly application: Hidden<Application>;

  constructor(
    modules: ModulesContainer,
    private readonly connection: LockConnection,
    host: HttpAdapterHost,
    config: ApplicationConfig,
    private readonly log: FindingLog,
    private readonly strict: boolean,
  ) {
    this.application = new Hidden({ modules, host, config });
  }

  /** @throws LockConfigurationError with `strict`, when there are findings. */
  async onApplicationBootstrap(): Promise<void> {
    if (!isNew(this.connection)) return;
    const { modules } = this.application.reveal();
    const places = [...providedMethods(modules, this.connection.name)];
    const found = [
      ...places.flatMap((place) => [...findMinified(place), ...findHidden(place)]),
      ...findUnprovided(instancesOf(modules), this.connection.name),
      ...this.findLongWaits(places),
      ...places.flatMap((place) => findScheduled(place, this.connection.defaults.wait)),
      ...(await this.examineServer()),
    ];
    if (this.strict) await this.refuse(found);
    this.log.tell(found);
    this.whenListening(() => setImmediate(() => this.log.tell(this.findLongWaits(places))));
    if (isNew(modules)) this.examineApplication();
  }

  /** Findings that never prevent a start. */
  private examineApplication(): void {
    const { modules, host, config } = this.application.reveal();
    if (host.httpAdapter && !isSilenced(modules)) this.log.tell(findCatchAll(config));
    if (!this.log.ignores({ code: 'LOCK_DOCTOR_CONSOLE' }))
      checkParts(modules, config, (found) => this.connection.isClosing || this.log.tell(found));
    const look = () => this.connection.isClosing || this.log.tell(findNoShutdown(modules));
    this.whenListening(() => setTimeout(look, settlingTime).unref());
  }

  private findLongWaits(places: readonly ProvidedMethod[]): LockFinding[] {
    const { name, defaults } = this.connection;
    const waits = places.map(({ method }) => ({ where: method.where, wait: method.ownWait }));
    return findLongWaits(serverTimeout(this.application.reveal().host), waits, { name, wait: defaults.wait });
  }

  /** Time-outs and shutdown hooks are often set after `app.listen`: too late for the start, but not for a warning. */
  private whenListening(look: () => unknown): void {
    const server = httpServerOf(this.application.reveal().host);
    if (server?.listening === false) server.once?.('listening', look);
  }

  private async examineServer(): Promise<readonly LockFinding[]> {
    const { commandTimeout } = this.connection;
    let stop: NodeJS.Timeout | undefined;
    const late = new Promise<LockFinding[]>((resolve) => {
      const answer = [applicationFindings.unexamined(this.connection.name, commandTimeout)];
      stop = setTimeout(() => resolve(answer), commandTimeout);
    });
    try {
      return await Promise.race([this.connection.examine((finding) => this.log.ignores(finding)), late]);
    } finally {
      clearTimeout(stop);
    }
  }

  private async refuse(found: readonly LockFinding[]): Promise<void> {
    const mistakes = this.log.pick(found.filter(({ remark }) => !remark));
    if (mistakes.length === 0) return;
    // As when Redis is unavailable: an application that does not start leaves no socket open.
    await this.connection.beforeApplicationShutdown();
    throw doctorRefusals.notStarted(this.connection.name, mistakes.map((finding) => `- ${lineOf(finding)}`).join('\n'));
  }
}

function isNew(subject: object): boolean {
  const isKnown = examined.has(subject);
  examined.add(subject);
  return !isKnown;
}
