import { describe } from '@jest/globals';
import { observations } from './support/observations.js';
import { typescriptPeer } from './support/peer.js';

describe('the peer in TypeScript', () => {
  observations(async () => typescriptPeer);
});
