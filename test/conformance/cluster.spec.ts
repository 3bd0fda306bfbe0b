import { afterAll, describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock/testing';
import { ClusterGroup } from '../support/cluster-group.js';
import { ClusterPlace } from './cluster-place.js';

describe('locks on a cluster of three masters with replicas', () => {
  let group: Promise<ClusterGroup> | undefined;
  lockBackendConformance(async () => new ClusterPlace(await (group ??= ClusterGroup.start())));
  afterAll(async () => (await group)?.stop());
});
