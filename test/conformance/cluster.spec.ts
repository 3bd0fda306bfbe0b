import { afterAll, describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { ClusterGroup } from '../support/cluster-group.js';
import { ClusterTarget } from './cluster-target.js';

describe('locks on a cluster of three masters with replicas', () => {
  let group: Promise<ClusterGroup> | undefined;
  lockBackendConformance(async () => new ClusterTarget(await (group ??= ClusterGroup.start())));
  afterAll(async () => (await group)?.stop());
});
