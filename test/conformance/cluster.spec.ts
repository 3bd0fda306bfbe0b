import { afterAll, describe } from '@jest/globals';
import { conformanceOf } from '../../conformance/lock-backend.conformance.js';
import { ClusterGroup } from '../support/cluster-group.js';
import { ClusterTarget } from './cluster-target.js';

describe('locks on a cluster of three masters with replicas', () => {
  let group: Promise<ClusterGroup> | undefined;
  // A client renews and releases by nodes. Whether its callers share claims makes no difference to that.
  conformanceOf(['backend', 'handoff'], async () => new ClusterTarget(await (group ??= ClusterGroup.start())));
  afterAll(async () => (await group)?.stop());
});
