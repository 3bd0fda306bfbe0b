import { describe, expect, it } from '@jest/globals';
import * as story from '../../../sample/web/story.js';

const next = { name: 'Process 2', token: '9,000', after: '2.1 s' };
const loss: story.Loss = { loser: 'Process 1', token: '5,000', next, signal: 'before', status: 409 };

describe('the sentence about', () => {
  it.each<[string, string, string]>([
    [
      'a process that slept through its lease',
      story.stopped(loss),
      'Process 1 was stopped past its lease. Process 2 got the lock with token 9,000; when Process 1 woke, its signal fired and the row refused its token 5,000.',
    ],
    [
      'one whose signal did not fire, and whose write came first',
      story.stopped({ ...loss, signal: undefined, status: 201 }),
      'Process 1 was stopped past its lease. Process 2 got the lock with token 9,000; when Process 1 woke, its write came before that of a later holder: it counts, once.',
    ],
    [
      'one that was alone: nothing of another process',
      story.stopped({ ...loss, next: undefined }),
      'Process 1 was stopped past its lease. No other process wanted the lock; when Process 1 woke, its signal fired and the row refused its token 5,000, for a later buyer had come.',
    ],
    [
      'a write that none came after',
      story.cut({ ...loss, next: undefined, status: 201 }),
      'The link between Process 1 and Redis was cut. Its signal fired as its lease could not be renewed. No other process wanted the lock; its write came before any other: it counts, once.',
    ],
    [
      'a cut link whose signal was late',
      story.cut({ ...loss, signal: 'after', status: 500 }),
      'The link between Process 1 and Redis was cut. Its signal fired after the lock was another’s. Process 2 got the lock with token 9,000; its buyer got the response 500.',
    ],
    [
      'a cut link whose signal did not fire',
      story.cut({ ...loss, signal: undefined, status: undefined }),
      'The link between Process 1 and Redis was cut. Its signal did not fire. Process 2 got the lock with token 9,000; its buyer got no response.',
    ],
    [
      'a link that is mended',
      story.mended('Process 1', '9,000', 1),
      'The link between Process 1 and Redis is whole again. It had the lock again with token 9,000. 1 buyer got the response 503 in that time: without the lock, no sale.',
    ],
    [
      'a link that is mended after the sale',
      story.mended('Process 1', undefined, 0),
      'The link between Process 1 and Redis is whole again.',
    ],
    [
      'a key that was deleted',
      story.deleted({ ...loss, signal: undefined }),
      'The key was deleted while Process 1 had the lock with token 5,000. Process 2 got the lock with token 9,000. The row refused its token 5,000.',
    ],
    [
      'a process that was killed with the lock',
      story.killed('Process 1', '5,000', next, 2),
      'Process 1 was killed with the lock in its hands (token 5,000). Its lease ended, and Process 2 got the lock with token 9,000 2.1 s after the kill. 2 buyers of it got no response.',
    ],
    [
      'the last process, killed with the lock',
      story.killed('Process 1', '5,000', undefined, 1),
      'Process 1 was killed with the lock in its hands (token 5,000). No other process wanted the lock. 1 buyer of it got no response.',
    ],
    [
      'a process that was killed without the lock',
      story.killedWithout('Process 1', true, 0),
      'Process 1 was killed. It did not have the lock: no process had to wait.',
    ],
    [
      'a process that was killed while no one could tell whether it had the lock',
      story.killedWithout('Process 1', false, 1),
      'Process 1 was killed while it did not reach Redis. 1 buyer of it got no response.',
    ],
    [
      'Redis that is gone',
      story.redisKilled(3, 1),
      'Redis was killed. 3 buyers got the response 503, and 1 ticket was sold by the holder of a lease that still counted: without the lock, no sale.',
    ],
    [
      'Redis that is back',
      story.redisBack('4.0 s', { ...next, isLarger: true }, 0),
      'Redis came back without its memory after 4.0 s. Process 2 got the lock with token 9,000, which is larger than each one before, and no ticket was sold twice.',
    ],
    [
      'Redis that is back and broke what is promised',
      story.redisBack('4.0 s', { ...next, isLarger: false }, 1),
      'Redis came back without its memory after 4.0 s. Process 2 got the lock with token 9,000, which is NOT larger than those before, and 1 ticket was sold twice.',
    ],
  ])('%s', (_, sentence, expected) => {
    expect(sentence).toBe(expected);
  });
});
