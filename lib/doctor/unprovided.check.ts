import type { LockFinding } from '../core/lock-finding.js';
import { connectionsWanted } from '../interceptor/connection-slot.js';
import { applicationFindings } from './doctor.messages.js';

/**
 * Objects with locked methods in the properties of what Nest made, that Nest did not make: without a connection, these methods
 * reject. A class that is merely loaded is no mistake: a worker and a web server may share their code.
 */
export function findUnprovided(instances: Iterable<object>, connection: string): LockFinding[] {
  const provided = new Set(instances);
  const findings: LockFinding[] = [];
  for (const owner of provided) {
    for (const [property, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (typeof value !== 'object' || value === null || provided.has(value as object)) continue;
      const slot = connectionsWanted(value as object).get(connection);
      if (slot === undefined || (value as Record<symbol, unknown>)[slot] !== undefined) continue;
      findings.push(
        applicationFindings.unprovided(owner.constructor.name, property, (value as object).constructor.name),
      );
    }
  }
  return findings;
}
