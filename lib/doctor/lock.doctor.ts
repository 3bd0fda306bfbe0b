import type { OnApplicationBootstrap } from '@nestjs/common';
import type { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import type { LockFinding } from '../core/lock-finding.js';
import { instancesOf } from '../nest-instances.reader.js';
import type { LockConnection } from '../redis-lock.connection.js';
import { applicationFindings, doctorRefusals } from './doctor.messages.js';
import { type FindingLog, lineOf } from './finding-log.js';
import { findHidden } from './hidden-lock.check.js';
import { findLongWaits } from './http-timeout.check.js';
import { type LockedPlace, lockedPlaces } from './locked-places.reader.js';
import { findMinified } from './minified-template.check.js';
import { httpServerOf, serverTimeout } from './server-timeout.reader.js';
import { findUnprovided } from './unprovided.check.js';

/**
 * Looks at the application once, when every module's `onModuleInit` has run (libraries wrap methods there), and at the server of its
 * locks; tells what will go wrong later. Does not delay the start by more than one `commandTimeout`.
 */
export class LockDoctor implements OnApplicationBootstrap {
  constructor(
    private readonly application: ModulesContainer,
    private readonly connection: LockConnection,
    private readonly host: HttpAdapterHost,
    private readonly log: FindingLog,
    private readonly strict: boolean,
  ) {}

  /** @throws LockConfigurationError with `strict`, when there are findings. */
  async onApplicationBootstrap(): Promise<void> {
    const places = [...lockedPlaces(this.application, this.connection.name)];
    const found = [
      ...places.flatMap((place) => [...findMinified(place), ...findHidden(place)]),
      ...findUnprovided(instancesOf(this.application), this.connection.name),
      ...this.findLongWaits(places),
      ...(await this.examineServer()),
    ];
    if (this.strict) await this.refuse(found);
    this.log.tell(found);
    this.lookAgain(places);
  }

  private findLongWaits(places: readonly LockedPlace[]): LockFinding[] {
    const { name, client } = this.connection;
    const waits = places.map(({ method }) => ({ where: method.where, wait: method.ownWait }));
    return findLongWaits(serverTimeout(this.host), waits, { name, wait: client.defaults.wait });
  }

  /** Time-outs are often set on what `app.listen` answers: too late for the start, not for a warning. */
  private lookAgain(places: readonly LockedPlace[]): void {
    const server = httpServerOf(this.host);
    if (server?.listening !== false) return;
    server.once?.('listening', () => setImmediate(() => this.log.tell(this.findLongWaits(places))));
  }

  private async examineServer(): Promise<readonly LockFinding[]> {
    const { commandTimeout } = this.connection.client.backend;
    let stop: NodeJS.Timeout | undefined;
    const late = new Promise<LockFinding[]>((resolve) => {
      const answer = [applicationFindings.unexamined(this.connection.name, commandTimeout)];
      stop = setTimeout(() => resolve(answer), commandTimeout);
    });
    try {
      return await Promise.race([this.connection.examine(), late]);
    } finally {
      clearTimeout(stop);
    }
  }

  private async refuse(found: readonly LockFinding[]): Promise<void> {
    const mistakes = this.log.pick(found.filter(({ remark }) => !remark));
    if (mistakes.length === 0) return;
    // As when Redis is away: an application that does not start leaves no socket open.
    await this.connection.beforeApplicationShutdown();
    throw doctorRefusals.notStarted(this.connection.name, mistakes.map((finding) => `- ${lineOf(finding)}`).join('\n'));
  }
}
