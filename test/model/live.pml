/*
 * No waiter is lost, in the long run (G5): a live client that requests the lock gets it. Untimed, under weak fairness: a client that can take a step
 * forever takes it once. Three clients that come back forever; client 1 is the one that is watched.
 *
 * A command and its answer are one step here (their loss is the subject of handoff.pml). Each -DNO_... takes one protection away (cases.mjs).
 *   F_LINE   the line on which client 1's grants arrive breaks: noticed by the server, or half-open; F times
 *   F_CRASH  client 2 dies, in any state; its connection may stay half-open
 *   LAPSE    a pushed grant may run out before its claim asks by itself: the claim window is shorter than `poll`
 *   NOSUB    client 1 can never subscribe
 *   LOCAL    client 0 always has callers of its own waiting
 * Left out: the removal of waiters that have not asked for long (`patience`). No waiter starves without it either.
 */
#ifndef F
#define F 2
#endif
#define MAXLOCAL 1
mtype = { THINK, WAIT, HOLD, DEAD };
mtype = { LISTENING, POLLING, UNREACHABLE };                      /* layout.lua */
mtype = { SUB, UNSUB, HALF };
mtype ph[3] = THINK, standing[3], up[3];
byte holder, q[3], qlen, i, j, g;                          /* client + 1 */
bit prov, fast[3], others, beside; byte locals, faults = F; /* fast: the last answer said 'asked', so it polls well within the window */
chan sub[3] = [1] of { bit };

#ifdef NO_POLLING
#define SPOKEN LISTENING
#else
#define SPOKEN POLLING
#endif
#ifdef NO_MAXLOCAL
#define MAYGOON true
#define MUSTEND false
#else
#define MAYGOON (!others || locals < MAXLOCAL)             /* hand-off-budget.ts handOff() */
#define MUSTEND (others && locals >= MAXLOCAL)
#endif

inline leave(z) {                                          /* record.lua leave_queue */
  i = 0; do :: i < qlen && q[i] != z -> i++ :: else -> break od;
  if :: i < qlen -> do :: i + 1 < qlen -> q[i] = q[i+1]; i++ :: else -> break od; qlen--; q[qlen] = 0 :: else fi; i = 0
}
inline serve(caller) {                                     /* serve.lua */
  j = 0;
  do
  :: j >= qlen || q[j] == caller -> break
  :: else -> g = q[j] - 1;
     if
     :: standing[g] == POLLING || (standing[g] == LISTENING && up[g] != UNSUB) ->
          holder = g + 1; prov = 1; standing[g] = UNREACHABLE;
          if :: up[g] == SUB && len(sub[g]) == 0 -> sub[g]!1 :: else fi;
          break
     :: else -> standing[g] = UNREACHABLE; j++
     fi
  od; j = 0; g = 0
}
inline hold(c) { ph[c] = HOLD; prov = 0; fast[c] = 0; standing[c] = 0; leave(c + 1); if :: c == 0 -> locals = 0; others = (qlen > 0) :: else fi }
inline ask(c) {                                            /* acquire.lua, and what claim.ts and redis-backend.ts queued() make of the answer */
  if :: holder == 0 -> serve(c + 1) :: else fi;
  if
  :: holder == 0 || holder == c + 1 -> holder = c + 1; hold(c)
  :: else ->
     standing[c] = (up[c] != UNSUB -> LISTENING : SPOKEN); fast[c] = (up[c] == UNSUB);
#ifndef NO_CHECK
     if :: ph[c] == WAIT && up[c] == HALF -> up[c] = UNSUB :: else fi;    /* subscriber.ts check(): who polls has not been called */
#endif
     ph[c] = WAIT;
     i = 0; do :: i < qlen && q[i] != c + 1 -> i++ :: else -> break od;
     if :: i == qlen -> q[qlen] = c + 1; qlen++ :: else fi; i = 0
  fi
}

proctype Client(byte c) {
  do
  :: d_step { ph[c] == THINK -> ask(c) }
#ifndef NO_POLL
  :: d_step { ph[c] == WAIT -> ask(c) }
#endif
  /* subscriber.ts: subscribes, then every waiting claim asks at once */
  :: d_step { ph[c] == WAIT && up[c] == UNSUB &&
#ifdef NOSUB
       c != 1 &&
#endif
       true -> up[c] = SUB; ask(c) }
  /* the message; the renewal that confirms it is part of this step */
  :: d_step { len(sub[c]) > 0 -> sub[c]?_; if :: ph[c] == WAIT && holder == c + 1 -> hold(c) :: else fi }
#ifdef LOCAL
  :: d_step { c == 0 && ph[0] == HOLD && MAYGOON -> locals = (others -> locals + 1 : 0); beside = 1 }
  :: d_step { ph[c] == HOLD && (c != 0 || MUSTEND) -> holder = 0; ph[c] = THINK; serve(0) }
#else
  :: d_step { ph[c] == HOLD -> holder = 0; ph[c] = THINK; serve(0) }     /* release.lua */
#endif
#ifdef F_CRASH
  :: d_step { c == 2 -> ph[2] = DEAD; up[2] = UNSUB } -> break
  :: d_step { c == 2 -> ph[2] = DEAD; up[2] = HALF } -> break
#endif
  od
}
#ifdef LOCAL
/* local-queue.ts renewBeside(): its answer says how many stand in the queue */
proctype Renewal() { do :: d_step { beside -> beside = 0;
#ifndef NO_REPLYTELLS
    others = (qlen > 0);
#endif
  } od }
#endif
/* The record vanishes by itself: a dead holder's, and a pushed grant that was not confirmed. */
proctype Expiry() {
  do
#ifndef NO_EXPIRY
  :: d_step { holder != 0 && ph[holder-1] == DEAD -> holder = 0; prov = 0 }
#endif
#ifdef LAPSE
  :: d_step { holder != 0 && prov && ph[holder-1] == WAIT && len(sub[holder-1]) == 0 && !fast[holder-1] -> holder = 0; prov = 0 }
#endif
  :: false
  od
}
#ifdef F_LINE
proctype Line() {
  do
  :: d_step { faults > 0 && up[1] == SUB -> faults--; up[1] = HALF; if :: len(sub[1]) > 0 -> sub[1]?_ :: else fi }
  :: d_step { faults > 0 && up[1] == SUB -> faults--; up[1] = UNSUB; if :: len(sub[1]) > 0 -> sub[1]?_ :: else fi }
  od
}
#endif
init { atomic {
  up[0] = UNSUB; up[1] = UNSUB; up[2] = UNSUB;
  run Client(0); run Client(1); run Client(2); run Expiry();
#ifdef F_LINE
  run Line();
#endif
#ifdef LOCAL
  run Renewal()
#endif
} }
ltl g5 { [] ((ph[1] == WAIT) -> <> (ph[1] == HOLD)) }
