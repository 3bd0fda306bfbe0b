export { QuorumBackend, type QuorumBackendOptions, quorumCapabilities } from './quorum-backend.js';
