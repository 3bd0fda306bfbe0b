/*
 * Who is admitted beside whom: readers and writers, permits (share.lua, ask.lua, sharing.lua, serve.lua). Untimed: a lease that may end ends at any moment.
 * A command and its answer are one step here (their loss is the subject of handoff.pml). Each -DNO_... takes one protection away (cases.mjs).
 *   RW       every client wants the lock for itself, or shares it
 *   PERMITS  every client wants one or two of two permits
 *   LIMITS   every client wants one permit, of one or of two: the limit changes while they run
 *   CRASH    the last client dies, in any state
 *   LAPSE    a pushed grant may run out unread
 * N clients, M claims of each.
 */
#ifndef N
#define N 3
#endif
#ifndef M
#define M 2
#endif
mtype = { THINK, WAIT, HOLD, DEAD };
mtype = { LISTENING, POLLING, UNREACHABLE };
mtype = { EXCLUSIVE, SHARED, COUNTED };
mtype ph[N] = THINK, standing[N], wants[N], kind;             /* kind: in which the name is held; 0: free */
byte weight[N] = 1, top[N], limit, used;
bit rec[N], prov[N], over[N], up[N];                          /* the record: who holds, unconfirmed, past its end; who listens */
byte q[N], qlen, arr[N], came, rounds[N], i, j, k, g, live;   /* q: client + 1 */
chan sub[N] = [1] of { bit };

#ifdef NO_KIND
#define GOESWITH(z) true
#else
#define GOESWITH(z) (kind == wants[z] && kind != EXCLUSIVE)
#endif
#ifdef NO_COUNT
#define ENOUGH(z) true
#else
#define ENOUGH(z) (kind != COUNTED || used + weight[z] <= limit)
#endif
#define FITS(z) (kind == 0 || (GOESWITH(z) && ENOUGH(z)))      /* sharing.lua fits */
#define REACHED(z) (standing[z] == POLLING || (standing[z] == LISTENING && up[z]))
#ifdef NO_BLOCK
#define PASSED true
#else
#define PASSED false
#endif
#ifdef NO_BATCH
#define ONLYONE true
#else
#define ONLYONE false
#endif

inline leave(z) {                                             /* record.lua leave_queue */
  i = 0; do :: i < qlen && q[i] != z + 1 -> i++ :: else -> break od;
  if :: i < qlen -> do :: i + 1 < qlen -> q[i] = q[i+1]; i++ :: else -> break od; qlen--; q[qlen] = 0 :: else fi; i = 0
}
/* Stands behind all who came before: new ones at the end; one that lapsed, at its place (sharing.lua drop, ADR 0011). */
inline stand(z) {
  i = qlen;
#ifndef NO_PLACE
  do :: i > 0 && arr[q[i-1]-1] > arr[z] -> q[i] = q[i-1]; i-- :: else -> break od;
#endif
  q[i] = z + 1; qlen++; i = 0
}
inline settle() {                                             /* sharing.lua settle: no holder is left */
  live = 0; i = 0; do :: i < N -> live = live + rec[i]; i++ :: else -> break od; i = 0;
  if :: live == 0 -> kind = 0; used = 0 :: else fi; live = 0
}
inline look() {                                               /* sharing.lua look: who is past its end leaves */
  k = 0;
  do
  :: k >= N -> break
  :: else ->
     if
     :: rec[k] && over[k] ->
          rec[k] = 0; over[k] = 0;
#ifndef NO_RETURN
          used = used - weight[k];
#endif
          if :: prov[k] && ph[k] == WAIT && wants[k] != EXCLUSIVE -> stand(k) :: else fi; prov[k] = 0
     :: else
     fi; k++
  od; k = 0; settle()
}
/* sharing.lua admit, grant.lua. And the properties of a grant. */
inline admit(z, unread) {
  i = 0; live = 0;
  do
  :: i >= N -> break
  :: else ->
     if :: rec[i] && i != z -> live = live + weight[i]; assert(wants[i] == wants[z] && wants[z] != EXCLUSIVE) :: else fi;
     /* a waiter that came before, is in the queue and was called or could be: */
     if :: ph[i] == WAIT && !rec[i] && i != z && REACHED(i) -> assert(!(arr[i] < arr[z])) :: else fi;
     i++
  od; i = 0;
  rec[z] = 1; prov[z] = unread;
  if :: kind == 0 && wants[z] == COUNTED && limit == 0 -> limit = top[z] :: else fi;
  assert(wants[z] != COUNTED || live + weight[z] <= limit); live = 0;
  kind = wants[z]; used = used + weight[z]
}
inline serve(caller) {                                        /* serve.lua */
  j = 0;
  do
  :: j >= qlen || q[j] == caller -> break
  :: else -> g = q[j] - 1;
     if
     :: REACHED(g) && !FITS(g) -> if :: PASSED -> j++ :: else -> break fi
     :: REACHED(g) && FITS(g) ->
          standing[g] = UNREACHABLE; admit(g, 1);
          if :: up[g] && len(sub[g]) == 0 -> sub[g]!1 :: else fi;
          if :: wants[g] == EXCLUSIVE -> break :: else -> leave(g); if :: ONLYONE -> break :: else fi fi
     :: else -> standing[g] = UNREACHABLE; j++
     fi
  od; g = 0
}
/* After a script that has served: the first who can be called does not fit, and what is in use is known. */
inline allserved(caller) {
  i = 0; do :: i < qlen && q[i] != caller && !REACHED(q[i]-1) -> i++ :: else -> break od;
  if :: i < qlen && q[i] != caller -> assert(!FITS(q[i]-1)) :: else fi;
  i = 0; live = 0; do :: i < N -> if :: rec[i] -> live = live + weight[i] :: else fi; i++ :: else -> break od; i = 0;
  assert(used == live); live = 0
}
inline ask(c) {                                               /* ask.lua */
  if :: ph[c] == THINK -> came++; arr[c] = came :: else fi;
  look();
  if
  :: rec[c] -> prov[c] = 0; leave(c); ph[c] = HOLD            /* it fetches a grant that was pushed to it */
  :: else ->
     if :: wants[c] == COUNTED && ph[c] == THINK -> limit = top[c] :: else fi;       /* ADR 0074 */
     if
     :: kind == 0 || (kind == wants[c] && kind != EXCLUSIVE) ->
#ifdef NO_SERVEFIRST
          j = qlen
#else
          serve(c + 1); allserved(c + 1)
#endif
     :: else -> j = N
     fi;
     if
     :: (j >= qlen && j < N + 1 && (kind == 0 || kind == wants[c]) || (j < qlen && q[j] == c + 1)) && FITS(c) ->
          leave(c); admit(c, 0); ph[c] = HOLD
     :: else ->
          i = 0; do :: i < qlen && q[i] != c + 1 -> i++ :: else -> break od;
          if :: i == qlen -> stand(c) :: else fi; i = 0;
          standing[c] = (up[c] -> LISTENING : POLLING); ph[c] = WAIT
     fi; j = 0
  fi
}
inline release(c) {                                           /* release.lua */
  look();
  if
  :: rec[c] -> rec[c] = 0; prov[c] = 0;
#ifndef NO_RETURN
     used = used - weight[c];
#endif
     settle()
  :: else
  fi;
  arr[c] = 0; ph[c] = THINK; rounds[c]++;
  serve(0); allserved(0); j = 0
}

proctype Client(byte c) {
end:
  do
  :: d_step { ph[c] == THINK && rounds[c] < M -> ask(c) }
  :: d_step { ph[c] == WAIT -> ask(c) }
  :: d_step { ph[c] == WAIT && !up[c] -> up[c] = 1; ask(c) }
  :: d_step { len(sub[c]) > 0 -> sub[c]?_;                     /* the message, and the renewal that confirms it */
       if :: ph[c] == WAIT && rec[c] && !over[c] -> prov[c] = 0; leave(c); ph[c] = HOLD :: else fi }
  :: d_step { ph[c] == HOLD -> release(c) }
#ifdef CRASH
  :: d_step { c == N - 1 && ph[c] != DEAD -> ph[c] = DEAD; up[c] = 0 }
#endif
  od
}
/* The end of a lease: a dead holder's, and that of a pushed grant that was not confirmed. An exclusive record expires. */
proctype Expiry() {
end:
  do
  :: d_step { k == 0 && rec[N-1] && !over[N-1] && ph[N-1] == DEAD ->
       if :: wants[N-1] == EXCLUSIVE -> rec[N-1] = 0; prov[N-1] = 0; kind = 0; used = 0 :: else -> over[N-1] = 1 fi }
#ifdef LAPSE
  :: d_step { rec[0] && prov[0] && !over[0] && ph[0] == WAIT ->
       if :: len(sub[0]) > 0 -> sub[0]?_ :: else fi;
       if :: wants[0] == EXCLUSIVE -> rec[0] = 0; prov[0] = 0; kind = 0; used = 0 :: else -> over[0] = 1 fi }
#endif
  od
}
init { byte n = 0; atomic {
  do
  :: n < N ->
#ifdef RW
     if :: wants[n] = EXCLUSIVE :: wants[n] = SHARED fi;
#else
     wants[n] = COUNTED; top[n] = 2;
#ifdef LIMITS
     if :: top[n] = 1 :: top[n] = 2 fi;
#else
     if :: weight[n] = 1 :: weight[n] = 2 fi;
#endif
#endif
     n++
  :: else -> break
  od;
  n = 0; do :: n < N -> run Client(n); n++ :: else -> break od;
  run Expiry()
} }
