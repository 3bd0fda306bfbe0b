import { describe } from '@jest/globals';
import { clusterMatrix } from './support/cluster-matrix.js';
import { faults } from './support/faults.js';
import { matrix } from './support/matrix.js';
import { migration } from './support/migration.js';
import { observations } from './support/observations.js';
import { typescriptPeer } from './support/peer.js';

describe('the peer in TypeScript', () => {
  observations(async () => typescriptPeer);
});

describe('this library beside the peer in TypeScript', () => {
  matrix(async () => typescriptPeer);
  faults(async () => typescriptPeer);
  migration(async () => typescriptPeer);
});

describe('this library beside the peer in TypeScript on a cluster', () => {
  clusterMatrix(async () => typescriptPeer);
});
