export { MemoryLockBackend, type MemoryLockBackendOptions } from './memory-backend.js';
export type { MemoryFaults } from './memory-faults.js';
export { MemoryLockServer, type MemoryLockServerOptions } from './memory-server.js';
export { settled } from './turns.js';
