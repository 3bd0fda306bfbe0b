import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ReplyWatch } from '../../lib/backends/redis/reply-watch.js';

const timeout = 1_000;
/** The watch reads what has arrived before it judges: a fake setImmediate takes 1 ms. */
const turn = 1;

describe('the watch of the replies, when more than a thousand of them came while others were under way', () => {
  let silences: number;
  let watch: ReplyWatch;
  const begin = (count: number): void => {
    for (let index = 0; index < count; index++) watch.begin();
  };
  const end = (count: number): void => {
    for (let index = 0; index < count; index++) watch.end();
  };

  beforeEach(() => {
    jest.useFakeTimers();
    silences = 0;
    watch = new ReplyWatch(timeout, () => silences++);
    begin(1_200);
    jest.advanceTimersByTime(600);
    begin(300);
    // Those left were sent at 600 ms.
    end(1_250);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('finds a silence when the oldest command without a reply has waited for the timeout, not before', () => {
    jest.advanceTimersByTime(timeout - 1);
    expect(silences).toBe(0);
    jest.advanceTimersByTime(1 + turn);
    expect(silences).toBe(1);
  });

  it('finds none once all commands have their replies', () => {
    end(250);
    jest.advanceTimersByTime(3 * timeout);
    expect(silences).toBe(0);
  });
});
