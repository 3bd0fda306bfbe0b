import type { Action, Scene } from './scene.js';

const start = (who: string, job?: string): Action =>
  job === undefined ? { do: 'start', who } : { do: 'start', who, job };
const wait = (seconds: number): Action => ({ do: 'wait', ms: seconds * 1000 });

const pause: Scene['steps'] = [
  { says: 'A takes the lock, reads the row and begins 25 s of work.', actions: [start('A'), wait(5)] },
  { says: 'B asks for the same lock. It waits in the queue.', actions: [start('B'), wait(7)] },
  {
    says: 'A stands still in the middle of its work: a long garbage collection, a laptop lid.',
    actions: [{ do: 'stop', who: 'A' }, wait(5)],
  },
  { says: 'A renews nothing. Its lease ends, and B gets the lock with a larger token.', actions: [wait(25)] },
  {
    says: 'A wakes up. Before its first await it knows that the lock is lost. It does not look, and writes.',
    actions: [{ do: 'continue', who: 'A' }, wait(1)],
  },
  { says: 'The row has seen the token of B, and refused the write. B ends its work.', actions: [wait(28)] },
];

/** All scenes, by the name of the attribute `scene`. */
export const scenes: Readonly<Record<string, Scene>> = {
  pause: {
    title: 'Paused past its lease',
    about:
      'A process stands still for longer than its lease, and another one goes on. The fencing token keeps the late write out.',
    processes: ['A', 'B'],
    jobs: { default: { keys: ['stock:42'], work: 25_000, wait: 120_000 } },
    steps: pause,
    ends: { outcomes: { A: ['refused'], B: ['done'] }, rows: { 'stock:42': [1, 1, 0] } },
  },
  fencing: {
    title: 'Checked at the write only',
    about:
      'The same pause, but the row sees the token only when it is written. B has read the row and not written yet, so A comes through.',
    processes: ['A', 'B'],
    settings: { fencing: 'at the write' },
    jobs: { default: { keys: ['stock:42'], work: 25_000, wait: 120_000 } },
    steps: [
      ...pause.slice(0, 5),
      {
        says: 'The row had not seen the token of B, and took the write. B writes what it read before: the write of A is lost. Choose "before the read", and play again.',
        actions: [wait(28)],
      },
    ],
    ends: { outcomes: { A: ['LOCK_LOST'], B: ['done'] }, rows: { 'stock:42': [1, 0, 1] } },
  },
  queue: {
    title: 'First come, first served',
    about: 'Four processes want one lock. Each release hands it to the next in the queue, in one step.',
    processes: ['A', 'B', 'C', 'D'],
    jobs: { default: { keys: ['stock:42'], work: 6_000, wait: 60_000 } },
    steps: [
      { says: 'A takes the lock.', actions: [start('A'), wait(1)] },
      { says: 'C is the next to ask.', actions: [start('C'), wait(1)] },
      { says: 'B and D ask, one after the other.', actions: [start('B'), wait(1), start('D'), wait(1)] },
      { says: 'A releases. In the same step Redis gives the lock to C.', actions: [wait(4)] },
      { says: 'C and B follow. No process polls, and none overtakes.', actions: [wait(12)] },
      { says: 'D is the last. Four tokens, each larger than the one before.', actions: [wait(8)] },
    ],
    ends: { outcomes: { A: ['done'], B: ['done'], C: ['done'], D: ['done'] }, rows: { 'stock:42': [4, 0, 0] } },
  },
  crash: {
    title: 'A holder dies',
    about: 'A dead process releases nothing. The lease is what frees its lock, and the queue goes on.',
    processes: ['A', 'B', 'C'],
    settings: { lease: 20_000 },
    jobs: { default: { keys: ['stock:42'], work: 12_000, wait: 120_000 } },
    steps: [
      { says: 'A takes the lock.', actions: [start('A'), wait(1)] },
      { says: 'B and C wait.', actions: [start('B'), wait(1), start('C'), wait(5)] },
      { says: 'A renewed its lease after a third of it. Now it dies.', actions: [{ do: 'kill', who: 'A' }, wait(5)] },
      { says: 'The record stays until the lease ends. Then B asks, and gets the lock.', actions: [wait(16)] },
      { says: 'B releases, and C follows at once.', actions: [wait(25)] },
    ],
    ends: { outcomes: { A: [], B: ['done'], C: ['done'] }, rows: { 'stock:42': [2, 0, 0] } },
  },
  message: {
    title: 'A lost message',
    about: 'The release gives the lock to the next waiter and tells it by a message. Messages of Redis can be lost.',
    processes: ['A', 'B'],
    jobs: { default: { keys: ['stock:42'], work: 6_000, wait: 60_000 } },
    steps: [
      { says: 'A takes the lock.', actions: [start('A'), wait(2)] },
      { says: 'B waits for the message.', actions: [start('B'), wait(2)] },
      { says: 'The next message will be lost.', actions: [{ do: 'lose-message' }, wait(1)] },
      { says: 'A releases. Redis gives the lock to B, and B does not hear of it.', actions: [wait(1.5)] },
      { says: 'B asks by itself, now and then. It finds its grant.', actions: [wait(4)] },
      { says: 'B works, and releases.', actions: [wait(10)] },
    ],
    ends: { outcomes: { A: ['done'], B: ['done'] }, rows: { 'stock:42': [2, 0, 0] } },
  },
  outage: {
    title: 'Redis is away',
    about:
      'A short outage costs nothing: the lease is longer. In a long one the holder stops believing before Redis does.',
    processes: ['A', 'B'],
    jobs: {
      default: { keys: ['stock:42'], work: 70_000, wait: 300_000 },
      short: { keys: ['stock:42'], work: 30_000, wait: 300_000 },
    },
    steps: [
      { says: 'A takes the lock, and B waits.', actions: [start('A'), wait(2), start('B', 'short'), wait(6)] },
      {
        says: 'Redis is away. The renewal of A gets no answer, and is repeated.',
        actions: [{ do: 'redis-away' }, wait(8)],
      },
      { says: 'Redis is back. A renews at once, and has lost nothing.', actions: [{ do: 'redis-back' }, wait(8)] },
      { says: 'Redis is away again, for longer than the lease.', actions: [{ do: 'redis-away' }, wait(12)] },
      { says: 'The certain lease of A ends, and its signal aborts, without a word from Redis.', actions: [wait(16)] },
      { says: 'Redis is back: B gets the lock.', actions: [{ do: 'redis-back' }, wait(8)] },
      { says: 'A writes late, and is refused.', actions: [wait(12)] },
      { says: 'B ends its work.', actions: [wait(14)] },
    ],
    ends: { outcomes: { A: ['refused'], B: ['done'] }, rows: { 'stock:42': [1, 1, 0] } },
  },
  orders: {
    title: 'Two locks in two orders',
    about:
      'One lock inside the other, in two orders, is a deadlock. Several names in one call are taken in one order by all processes.',
    processes: ['A', 'B'],
    jobs: {
      'x in y': { keys: ['y', 'x'], nested: true, work: 3_000, wait: 10_000 },
      'y in x': { keys: ['x', 'y'], nested: true, work: 3_000, wait: 10_000 },
      'x and y': { keys: ['x', 'y'], work: 4_000, wait: 30_000 },
      'y and x': { keys: ['y', 'x'], work: 4_000, wait: 30_000 },
    },
    steps: [
      {
        says: 'A takes x, and wants y inside it. B takes y, and wants x.',
        actions: [start('A', 'y in x'), wait(1), start('B', 'x in y'), wait(3)],
      },
      { says: 'Each waits for the other. Only the end of a wait resolves it.', actions: [wait(6)] },
      { says: 'A gives up after 10 s (LOCK_WAIT_TIMEOUT). Its release lets B go on.', actions: [wait(10)] },
      {
        says: 'Now both name both locks in one call, in any order.',
        actions: [start('A', 'x and y'), start('B', 'y and x'), wait(3)],
      },
      { says: 'A has both. B waits, and holds nothing that A needs.', actions: [wait(8)] },
    ],
    ends: {
      outcomes: { A: ['LOCK_WAIT_TIMEOUT', 'done'], B: ['done', 'done'] },
      rows: { x: [3, 0, 0], y: [3, 0, 0] },
    },
  },
  readers: {
    title: 'Readers and a writer',
    about: 'Any number of readers, or one writer. A reader that comes behind a waiting writer does not overtake it.',
    processes: ['R1', 'R2', 'W', 'R3'],
    jobs: {
      default: { keys: ['catalogue'], work: 6_000, wait: 60_000, kind: 'shared' },
      write: { keys: ['catalogue'], work: 4_000, wait: 60_000 },
    },
    steps: [
      { says: 'Two readers hold the lock at the same time.', actions: [start('R1'), wait(2), start('R2'), wait(1)] },
      { says: 'A writer waits for them.', actions: [start('W', 'write'), wait(1)] },
      {
        says: 'A third reader waits behind the writer, though readers hold the lock.',
        actions: [start('R3'), wait(1)],
      },
      { says: 'The readers end. The writer is alone.', actions: [wait(4)] },
      { says: 'The writer ends, and the third reader follows.', actions: [wait(12)] },
    ],
    ends: { outcomes: { R1: ['done'], R2: ['done'], W: ['done'], R3: ['done'] }, rows: { catalogue: [1, 0, 0] } },
  },
  permits: {
    title: 'Two at a time',
    about: 'A lock with a limit of two. One of the holders dies, and its permit comes back when its lease ends.',
    processes: ['A', 'B', 'C', 'D'],
    settings: { lease: 10_000 },
    jobs: { default: { keys: ['provider'], work: 6_000, wait: 60_000, kind: { limit: 2 } } },
    steps: [
      { says: 'A and B take one permit each.', actions: [start('A'), wait(1), start('B'), wait(1)] },
      { says: 'C and D wait.', actions: [start('C'), start('D'), wait(1)] },
      { says: 'B dies with its permit.', actions: [{ do: 'kill', who: 'B' }, wait(2)] },
      { says: 'A ends, and C has its permit. D waits for the lease of B.', actions: [wait(3)] },
      { says: 'The lease of B ends. D has its permit, beside C.', actions: [wait(5)] },
      { says: 'All permits are free again.', actions: [wait(8)] },
    ],
    ends: { outcomes: { A: ['done'], B: [], C: ['done'], D: ['done'] }, rows: { provider: [0, 0, 0] } },
  },
};
