export { QuorumBackend, type QuorumBackendOptions, quorumCapabilities } from './quorum-backend.js';
export { assertQuorumSize, quorumDefaults, type QuorumTuning, resolveQuorumTuning } from './quorum.options.js';
