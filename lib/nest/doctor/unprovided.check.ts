import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { connectionsWanted } from '../method/connection-slot.js';
import { applicationFindings } from './doctor.messages.js';

/**
 * Objects with locked methods that Nest did not make, in properties of objects that it made. Without a connection their methods reject. A
 * class that is only loaded is fine: a worker and a web server may share code.
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
