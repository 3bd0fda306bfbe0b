/*
 * The hand-off as it is built: one lock name, N clients, one Redis server, time in ticks. Safety.
 *
 * What stands for what
 *   exec()            one run of scripts/acquire.lua, release.lua or renew.lua: atomic, as Redis runs them
 *   Client            lib/core/claim.ts, local-queue.ts, hold.ts, releases.ts of one process, for this name
 *   cmd, rep          its command connection (command-connection.ts): in order, both ways
 *   old               what lies in a connection that was given up: it may still run, at any later moment, and its reply is not read
 *   sub               its channel (subscriber.ts): pushed grants on their way
 *   World             time, and the faults that -DF_... switches on, at most F in all
 * A client that is paused, and a message that is slow, simply take no step: every delay up to MAXT ticks is covered.
 *
 * Each -DNO_... takes one protection away. cases.mjs says which property then breaks.
 * Left out: other names (scripts touch one name at a time, but for the register), claims that do not wait, and the time after which
 * a silent waiter's entry is removed (`patience`): what follows holds without it.
 */
#ifndef N
#define N 2                       /* clients */
#endif
#ifndef M
#define M 1                       /* claims that one client opens, one after the other; the others open one each */
#endif
#ifndef MAXT
#define MAXT 4
#endif
#ifndef LEASE
#define LEASE 2
#endif
#ifndef WINDOW
#define WINDOW 2                  /* claim window: the longest provisional grant */
#endif
#ifndef CT
#define CT 1                      /* commandTimeout */
#endif
#ifndef F
#define F 1                       /* faults */
#endif
#ifndef POLLS
#define POLLS 0                   /* questions that a waiting claim asks without a reason */
#endif
#ifndef RENS
#define RENS 0                    /* renewals by the watchdog, beside those that confirm a pushed grant */
#endif
#ifndef LH
#define LH 0                      /* local hand-offs of a claim */
#endif
#ifndef RESERVE
#define RESERVE LH                /* tokens reserved behind a granted one: `tokenBlock` */
#endif
#define K 12                      /* tokens to a tick: the clock counts microseconds */
#ifndef LOSS
#define LOSS 1                    /* ticks that a restart without data takes */
#endif
#ifndef BACK
#define BACK 2                    /* ticks by which F_BACK sets the server's clock back */
#endif
#define GUARD (BACK + 1)          /* ticks for which the register outlives the last grant: a clock that is set back by less cannot rewind tokens */
#ifndef BUSY
#define BUSY 0                    /* the client that opens M claims */
#endif
#define NC (N * M)
#define CLAIM(c, n) (((n) - 1) * N + (c) + 1)             /* the n-th claim of a client */
#define OWNER(z) (((z) - 1) % N)
#define SHARE(c) ((c) == BUSY -> M : 1)
#ifndef HASTY
#define HASTY BUSY                /* the client whose callers want a short lease (-DASKAT) */
#endif
#ifdef TWINS                      /* clients 0 and 1 are two claims of one process, each for one caller (fairness: 'strict'): they die together */
#define PROCESS(c) ((c) == 1 -> 0 : (c))
/* They ask in this order, at any distance: the holder, the two claims, the waiter behind them. */
#define BEGINS(c) ((c) == 2 || ((c) == 0 && used[2] > 0) || ((c) == 1 && used[0] > 0) || ((c) == 3 && used[1] > 0))
#else
#define PROCESS(c) (c)
#define BEGINS(c) true
#endif
#define SAMEPROCESS(a, b) (PROCESS(OWNER(a)) == PROCESS(OWNER(b)))

mtype = { ACQ, REL, REN, GRANTED, QUEUED, LATE, RELEASED, RENEWED, LOST, REFUSED };
mtype = { IDLE, NEW, WAIT, CONFIRM, HOLD, DEAD };         /* Claim.phase of the open claim; IDLE: none is open */
mtype = { LISTENING, POLLING, UNREACHABLE };                           /* standing of a waiter: includes/layout.lua */
mtype = { SUB, UNSUB, HALF };                             /* the server delivers; has no subscriber; has one whose line is dead */

/* type, claim, sent at, latest server time (ACQ) or token (REN), short lease (ACQ, REN) */
chan cmd[N] = [3] of { mtype, byte, byte, byte, bit };
chan old = [3] of { mtype, byte, byte, byte, bit };
/* type, claim, token, end of the lease by the sender's clock, server clock - sending time, last reserved token */
chan rep[N] = [4] of { mtype, byte, byte, byte, byte, byte };
/* claim, token, server now, length, last reserved token */
chan sub[N] = [2] of { byte, byte, byte, byte, byte };

/* --- the server --- */
byte holder, hexp, htok; bit prov;    /* the record; it vanishes by itself at hexp */
byte score[NC+1];                     /* the queue, a sorted set: 0 = not in it */
mtype standing[NC+1];                 /* the waiters' hash */
byte reg = 1;                         /* the token register; others have used it before */
#ifdef QUIET
byte regexp;                          /* when it expires, by the server's clock */
#endif
#ifdef ASKAT
bit hasty[NC+1];                      /* the waiters' hash: it waits for a short lease */
#endif
mtype up[N];                          /* PUBSUB NUMSUB of the clients' channels */
bit oom;                              /* no memory: the first write of a script is refused */
#ifdef F_REFUSED
bit refuses;                          /* the next renewal is refused, once: too few replicas, a slot that moves */
#endif
/* --- time --- */
byte now = 1, sclk = 4;               /* monotonic time, everywhere the same; the server's clock */
/* --- the clients --- */
mtype ph[N] = IDLE;
byte cl[N], used[N], tok[N], top[N], valid[N], diff[N], polls[N], rens[N], lhs[N];
bit asksoon[N], confirm[N], renewing[N];
#ifdef LASTS
bit again[N];                         /* local-queue.ts: one more renewal is due behind the one under way */
bit owed[N], proving[N];              /* its lease is a predecessor's or a window's; the renewal under way was sent since */
#endif
#ifdef ASKAT
byte askat[N];                        /* when a waiting claim asks by itself; 0: no askAt yet */
#endif
bit out[NC+1], closed[NC+1];          /* an acquire is unanswered; nothing but the release is sent any more */
byte rel[NC+1], late[NC+1];           /* releases.ts: 0 done, 1 under way, 2 unanswered, 3 once more at `late` */
/* --- a resource that checks fencing tokens --- */
byte fence, value, seen[N]; byte rw[N];
/* --- history, for the properties only --- */
byte arr[NC+1];                       /* order of arrival at the server */
bit excused[NC+1], listened[NC+1];    /* had its chance since it last asked; had a subscriber when it last asked */
byte posthumous[NC+1];                /* grants to a waiter whose process is dead */
bit ex[NC+1];                         /* its grant was wiped out (data loss, deletion by hand): only fencing can help */
byte maxtok, nexttok[N];              /* largest token in use so far; token of the first grant to another client since the client's own */
byte faults = F;
/* --- scratch, zero between steps --- */
byte x, sent, arg, i, g, gr, at, span, o; bit brief, quiet, whole, waits, asks; mtype ty, rty;

#define BELIEVES(c) (ph[c] == HOLD && now < valid[c])
/* G2: a client that believes in a lease has it, at the server, with no younger grant. G1 follows if no client is exempt, and is checked as well. */
#define G2(c) (!BELIEVES(c) || ex[cl[c]] || (holder == cl[c] && tok[c] >= htok))
#define BOTH(a, b) (BELIEVES(a) && BELIEVES(b) && !ex[cl[a]] && !ex[cl[b]])
#if N == 2
#define SAFE (G2(0) && G2(1) && !BOTH(0, 1))
#else
#define SAFE3 (G2(0) && G2(1) && G2(2) && !BOTH(0, 1) && !BOTH(0, 2) && !BOTH(1, 2))
#if N == 3
#define SAFE SAFE3
#else
#define SAFE (SAFE3 && G2(3) && !BOTH(0, 3) && !BOTH(1, 3) && !BOTH(2, 3))
#endif
#endif

/* No waiter is lost: who believes that he stands in the queue does, or holds; else he is about to ask. */
#define KEPT(c) (ph[c] != WAIT || asksoon[c] || out[cl[c]] || score[cl[c]] != 0 || holder == cl[c])
#if N == 2
#define NOBODYLOST (KEPT(0) && KEPT(1))
#elif N == 3
#define NOBODYLOST (KEPT(0) && KEPT(1) && KEPT(2))
#else
#define NOBODYLOST (KEPT(0) && KEPT(1) && KEPT(2) && KEPT(3))
#endif

/* A hold lasts as requested, or its holder learns its loss: a renewal that is owed to it is under way, or about to be sent. */
#ifdef LASTS
#define UNDERWAY(c) (renewing[c] && (cmd[c]??[REN,eval(cl[c]),_,_,_] || rep[c]??[RENEWED,eval(cl[c]),_,_,_,_] || rep[c]??[LOST,eval(cl[c]),_,_,_,_] || rep[c]??[REFUSED,eval(cl[c]),_,_,_,_]))
#define LASTING(c) (!(BELIEVES(c) && owed[c]) || confirm[c] || UNDERWAY(c))
#define ALLLAST (LASTING(0) && LASTING(1))
#else
#define ALLLAST true
#endif

#include "handoff-server.pml"
#include "handoff-client.pml"
#include "handoff-faults.pml"

active proctype Monitor() {
end:
  if
  :: atomic { !SAFE -> assert(SAFE) }
  :: atomic { !NOBODYLOST -> assert(NOBODYLOST) }
#ifdef LASTS
  :: atomic { !ALLLAST -> assert(ALLLAST) }
#endif
  fi
}

init { d_step {
  for (i : 0 .. N-1) { diff[i] = sclk - now;
#ifdef UNHEARD_FIRST
    up[i] = UNSUB };
#else
    up[i] = SUB };
#endif
  i = 0 };
  atomic { run Server(); run Client(0); run Client(1);
#if N > 2
  run Client(2);
#endif
#if N > 3
  run Client(3);
#endif
  run World() } }
