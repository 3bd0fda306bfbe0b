import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { Payments, Seats, TicketOffice } from './ticket-office.js';

/** The worked example of docs/how-to/testing.md: what a user writes for a service of his own. No Redis, no sleeps. */
describe('the ticket office', () => {
  let app: TestingModule;
  let office: TicketOffice;
  let payments: Payments;
  let seats: Seats;
  let bed: LockTestBed;

  beforeEach(async () => {
    // #region module
    app = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      providers: [TicketOffice, Payments, Seats],
    }).compile();
    await app.init();
    office = app.get(TicketOffice);
    payments = app.get(Payments);
    seats = app.get(Seats);
    bed = app.get(LockTestBed);
    // #endregion
    // A lost lock is a line in the log; here it is expected.
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await app.close();
    jest.restoreAllMocks();
  });

  it('sells the last seat once to several callers at the same time', async () => {
    const answers = await Promise.all(['ann', 'bob', 'cem'].map((buyer) => office.buy('gala', buyer)));
    expect(answers).toEqual(['a seat at gala', 'gala is sold out', 'gala is sold out']);
    expect(payments.charged).toEqual(['ann']);
  });

  it('keeps the lock while a payment takes minutes: its lease is renewed', async () => {
    jest.spyOn(payments, 'charge').mockImplementation(() => bed.sleep('5m'));
    await expect(bed.until(office.buy('gala', 'ann'))).resolves.toBe('a seat at gala');
  });

  it('is connected by the bed if a test creates it itself', async () => {
    // #region by-hand
    const bed = new LockTestBed();
    const office = bed.connect(new TicketOffice(payments, seats));
    await expect(office.buy('gala', 'ann')).resolves.toBe('a seat at gala');
    // #endregion
    await bed.locks().using('event:opera', async () => {
      expect(bed.inspect('event:opera').holders[0]?.client).toBe('default');
    });
  });

  describe('while another process sells', () => {
    it('gives up after two seconds, and charges no customer', async () => {
      // #region contended
      await bed.otherProcess().acquire('event:gala');
      await expect(bed.until(office.buy('gala', 'ann'))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
      expect(payments.charged).toEqual([]);
      // #endregion
    });

    it('waits for its turn, and gets it with the release', async () => {
      const lock = await bed.otherProcess().acquire('event:gala');
      const bought = office.buy('gala', 'ann');
      await bed.advance('1s');
      expect(bed.inspect('event:gala')).toMatchObject({
        holders: [{ client: 'elsewhere' }],
        waiters: [{ client: 'default' }],
      });
      await lock.release();
      await expect(bought).resolves.toBe('a seat at gala');
    });

    it('gets its turn even if the message was lost', async () => {
      const lock = await bed.otherProcess().acquire('event:gala', { lease: '1s' });
      const bought = office.buy('gala', 'ann');
      await bed.advance('500ms');
      bed.faults.loseHandOffs();
      await lock.release();
      await expect(bed.until(bought)).resolves.toBe('a seat at gala');
    });

    it('gets its turn when that process has died: its lease runs out', async () => {
      await bed.otherProcess().acquire('event:gala', { lease: '1500ms' });
      await expect(bed.until(office.buy('gala', 'ann'))).resolves.toBe('a seat at gala');
    });
  });

  it('is not disturbed by a process that was stopped past its lease: its late write is refused', async () => {
    // #region stopped
    const other = bed.otherProcess();
    const late = other.using('event:gala', async (lock) => {
      await other.sleep('10s');
      await seats.take('zoe', lock.fencingToken);
    });
    await bed.advance('5s');
    other.stop();
    await bed.advance('31s');
    await expect(office.buy('gala', 'ann')).resolves.toBe('a seat at gala');
    other.continue();
    await expect(bed.until(late)).rejects.toThrow('a later holder has written since');
    expect(seats.owners).toEqual(['ann']);
    // #endregion
  });

  describe('when its lock is lost', () => {
    it('because the process was paused sells nothing, and returns the money', async () => {
      // #region lost
      jest.spyOn(payments, 'charge').mockImplementation(async (buyer) => {
        payments.charged.push(buyer);
        // A full garbage collection, a suspended machine: time passes, and no code runs, not even the renewal.
        bed.stall('31s');
        await bed.otherProcess().acquire('event:gala');
      });
      await expect(office.buy('gala', 'ann')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      expect([payments.charged, seats.owners]).toEqual([[], []]);
      // #endregion
    });

    it('because Redis forgot it sells nothing after the renewal has detected it', async () => {
      jest.spyOn(payments, 'charge').mockImplementation(async (buyer) => {
        payments.charged.push(buyer);
        bed.faults.lose('event:gala');
        await bed.sleep('20s');
      });
      const bought = bed.until(office.buy('gala', 'ann'));
      await expect(bought).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      expect([payments.charged, seats.owners]).toEqual([[], []]);
    });
  });

  describe('while Redis is unavailable', () => {
    it('rejects at once, charges no customer, and works again afterwards', async () => {
      // #region unavailable
      bed.faults.unavailable('5s');
      await expect(office.buy('gala', 'ann')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(payments.charged).toEqual([]);
      await bed.advance('5s');
      await expect(office.buy('gala', 'ann')).resolves.toBe('a seat at gala');
      // #endregion
    });

    it('keeps selling under the lock that it holds, as long as its lease lasts', async () => {
      jest.spyOn(payments, 'charge').mockImplementation(async () => {
        bed.faults.unavailable('15s');
        await bed.sleep('20s');
      });
      await expect(bed.until(office.buy('gala', 'ann'))).resolves.toBe('a seat at gala');
    });
  });
});
