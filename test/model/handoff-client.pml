/* One process, for one lock name: lib/core and the connections of lib/backends/redis. Part of handoff.pml. */

/* --- what a mutant takes away --- */
#ifdef NO_BLOCKEND
#define INBLOCK(c) true
#else
#define INBLOCK(c) (tok[c] < top[c])                                  /* hand-off-budget.ts: fencingToken > tokensUntil */
#endif
#ifdef NO_FENCE
#define ACCEPTED(c) true
#else
#define ACCEPTED(c) (tok[c] >= fence)
#endif
#ifdef NO_CLAIMID
#define MEANT(c, z) (cl[c] != 0)
#else
#define MEANT(c, z) (cl[c] == z)                                      /* lock-client.ts: this.claims.get(grant.claim) */
#endif

/* --- what it does --- */
#define ROOM(c) (len(cmd[c]) < 3)

inline ask(c, b) {                                                     /* claim.ts ask(); latestUseful() */
  printf("t%d client %d asks (claim %d)\n", now, c, cl[c]);
  cmd[c]!ACQ,cl[c],now,now + CT + diff[c],b; out[cl[c]] = 1; asksoon[c] = 0;
#ifdef ASKAT
  askat[c] = 0
#endif
}
#ifdef ASKAT
#define TIMETOASK(c) (ph[c] == WAIT && askat[c] != 0 && askat[c] <= now)                              /* claim.ts askAt() */
#ifdef BRIEFCALLER
#define SHORT(c) 0
#else
#define SHORT(c) (c == HASTY)                                         /* the lease that its callers want */
#endif
#else
#define TIMETOASK(c) false
#define SHORT(c) 0
#endif
#ifdef ASKAT
#define TAKESOVER(c) (c == BUSY)
#else
#define TAKESOVER(c) true
#endif
#define AGAIN(c, z) (ph[c] != DEAD && (rel[z] == 2 || (rel[z] == 3 && now >= late[z])))
inline close(c) {                                                      /* claim.ts release() or abandon(): nothing but the release is sent from now on */
  printf("t%d client %d gives up claim %d\n", now, c, cl[c]);
  closed[cl[c]] = 1; rel[cl[c]] = 1; cmd[c]!REL,cl[c],0,0,0;
  forget(c)
}
inline forget(c) {
  ph[c] = IDLE; cl[c] = 0; tok[c] = 0; top[c] = 0; valid[c] = 0; polls[c] = 0; rens[c] = 0; lhs[c] = 0; asksoon[c] = 0; confirm[c] = 0; rw[c] = 0; seen[c] = 0;
#ifndef NO_TENURE
  renewing[c] = 0;                                                     /* local-queue.ts: renewals are those of one turn of the process */
#endif
#ifdef LASTS
  again[c] = 0; owed[c] = 0; proving[c] = 0;
#endif
#ifdef ASKAT
  askat[c] = 0
#endif
}
#ifdef LASTS
#define PROVING(c) proving[c] = 1
#define OWED(c) owed[c] = 1
#else
#define PROVING(c) skip
#define OWED(c) skip
#endif
inline renew(c, b) { renewing[c] = 1; PROVING(c); cmd[c]!REN,cl[c],now,tok[c],b }
inline proveit(c) {                                                    /* the watchdog confirms a hold that was handed on, besides */
#ifdef LASTS
#ifdef NO_WATCHDOG
  confirm[c] = 0;                                                      /* what was planned was for the hold before */
#else
  confirm[c] = 1;
#endif
  proving[c] = 0;
  if :: renewing[c] -> again[c] = 1 :: else -> confirm[c] = 0; renew(c, 0) fi
#else
  if :: renewing[c] -> confirm[c] = 1 :: else -> renew(c, 0) fi
#endif
}
inline ended(c) {                                                      /* the renewal of the open claim that was under way: its answer is here */
  renewing[c] = 0;
#ifdef LASTS
  if :: proving[c] && m == RENEWED -> owed[c] = 0 :: else fi;
  proving[c] = 0;
#ifndef NO_AGAIN
  if :: again[c] -> confirm[c] = 1 :: else fi;
#endif
  again[c] = 0
#endif
}
inline take(c, t, until, last) {                                       /* claim.ts take(), hold.ts */
  ph[c] = HOLD; tok[c] = t; valid[c] = until; top[c] = last; asksoon[c] = 0;
#ifdef ASKAT
  askat[c] = 0
#endif
}

/* The command connection breaks: claim.ts failed(), releases.ts keep(), command-connection.ts setUp(). */
inline broken(c) {
  do :: len(rep[c]) > 0 -> rep[c]?_,_,_,_,_,_ :: else -> break od;
  for (i : 1 .. NC) {
    if
    :: OWNER(i) == c ->
       if :: out[i] -> out[i] = 0; late[i] = now + 2 * CT; rel[i] = (closed[i] -> 2 : 0) :: else fi;
#ifdef NO_REPEAT
       rel[i] = (rel[i] == 3 -> 3 : 0)
#else
       rel[i] = (rel[i] == 1 -> 2 : rel[i])
#endif
    :: else
    fi
  };
  i = 0; renewing[c] = 0;
#ifdef LASTS
  again[c] = 0; proving[c] = 0;
#endif
  diff[c] = sclk - now;                                                /* the first command of the next connection reads the clock */
  if
  :: ph[c] == NEW -> close(c)                                          /* a first question is not repeated: LOCK_UNAVAILABLE */
  :: ph[c] == CONFIRM -> ph[c] = WAIT; asksoon[c] = 1
  :: ph[c] == WAIT -> asksoon[c] = 1
  :: ph[c] == HOLD -> confirm[c] = 1                                   /* renewal.ts repeat() */
  :: else
  fi
}

#ifdef TWINS
#define TWINDIES forget(1); ph[1] = DEAD; up[1] = up[0]
#else
#define TWINDIES skip
#endif

proctype Client(byte c) {
  byte z, t, e, d, l; mtype m;
end:
  do
  /* A caller wants the lock: local-queue.ts openClaim(). Also right behind the release of the claim before. */
  :: d_step { ph[c] == IDLE && used[c] < SHARE(c) && ROOM(c) && BEGINS(c) -> used[c]++; cl[c] = CLAIM(c, used[c]); ph[c] = NEW; ask(c, SHORT(c)) }
  /* Asks again: it has a reason, or `poll` is over. */
  :: d_step { (ph[c] == WAIT || ph[c] == NEW) && !out[cl[c]] && ROOM(c) && (asksoon[c] || TIMETOASK(c) || (ph[c] == WAIT && polls[c] < POLLS)) ->
       polls[c] = (asksoon[c] || TIMETOASK(c) -> polls[c] : polls[c] + 1); ask(c, SHORT(c)) }
#ifdef BRIEFCALLER
  /* Its caller gives up; the next one of the process, which wants a shorter lease, takes the place in the queue over: local-queue.ts terms(). */
  :: d_step { ph[c] == WAIT && !out[cl[c]] && ROOM(c) && polls[c] < BRIEFCALLER && TAKESOVER(c) -> polls[c]++; ask(c, 1) }
#endif
  /* subscriber.ts: from the first wait on, and anew when the line broke; then every waiting claim asks. */
  :: d_step { up[c] == UNSUB && ph[c] == WAIT -> up[c] = SUB; asksoon[c] = 1 }
#ifdef GIVEUP
  /* `wait` is over, or the caller's signal aborts. */
  :: d_step { (ph[c] == NEW || ph[c] == WAIT || ph[c] == CONFIRM) && ROOM(c) -> close(c) }
#endif
  /* An answer. */
  :: d_step { rep[c]?m,z,t,e,d,l ->
       printf("t%d client %d reads %e (claim %d)\n", now, c, m, z);
       if :: m != RELEASED -> diff[c] = d :: else fi;                   /* server-clock.ts observe(): this answer's clock against the sending */
       if
       :: m == GRANTED || m == QUEUED || m == LATE -> out[z] = 0
       :: m == RELEASED && rel[z] == 1 ->
#ifdef NO_LATERELEASE
            rel[z] = 0
#else
            rel[z] = (late[z] != 0 -> 3 : 0)                            /* once more, when no late question can follow */
#endif
       :: else
       fi;
       if
#ifdef NO_TENURE
       :: z != cl[c] && (m == RENEWED || m == LOST || m == REFUSED) -> renewing[c] = 0
       :: z != cl[c] && !(m == RENEWED || m == LOST || m == REFUSED) -> skip
#else
       :: z != cl[c] -> skip
#endif
       :: z == cl[c] && m == GRANTED && ph[c] != HOLD ->
#ifdef NO_SENT
            take(c, t, now + LEASE, l)
#else
            take(c, t, e, l)
#endif
#ifdef LASTS
#ifdef NO_LATE
            ; if :: e < now + LEASE -> OWED(c) :: else fi
#else
            ; if :: e < now + LEASE -> OWED(c); confirm[c] = 1 :: else fi       /* hold.ts nextRenewal(): its grant came late */
#endif
#endif
#ifdef ASKAT
#ifdef NO_EARLIER
       :: z == cl[c] && m == QUEUED && (ph[c] == NEW || ph[c] == WAIT) -> ph[c] = WAIT; askat[c] = e
#else
       :: z == cl[c] && m == QUEUED && (ph[c] == NEW || ph[c] == WAIT) -> ph[c] = WAIT; askby(c, e)
#endif
#else
       :: z == cl[c] && m == QUEUED && ph[c] == NEW -> ph[c] = WAIT
#endif
       :: z == cl[c] && m == LATE && (ph[c] == NEW || ph[c] == WAIT) -> asksoon[c] = 1
       :: z == cl[c] && m == RENEWED && ph[c] == CONFIRM -> take(c, tok[c], e, l)
       :: z == cl[c] && m == RENEWED && ph[c] == HOLD -> ended(c); valid[c] = (e > valid[c] -> e : valid[c]); top[c] = (l > top[c] -> l : top[c])
       :: z == cl[c] && m == LOST && ph[c] == CONFIRM -> ph[c] = WAIT; tok[c] = 0; asksoon[c] = 1      /* its turn passed unheard */
       :: z == cl[c] && m == LOST && ph[c] == HOLD -> ended(c); valid[c] = 0                              /* hold.ts lose('revoked') */
#ifdef F_REFUSED
       :: z == cl[c] && m == REFUSED && ph[c] == CONFIRM -> ph[c] = WAIT; tok[c] = 0; asksoon[c] = 1
       :: z == cl[c] && m == REFUSED && ph[c] == HOLD -> ended(c);
#ifndef NO_RETRY
            confirm[c] = 1                                             /* renewal.ts: tried again well inside the lease */
#endif
#endif
       :: else
       fi;
       z = 0; t = 0; e = 0; d = 0; l = 0; m = 0 }
  /* A pushed grant: lock-client.ts granted(), claim.ts receive(), redis-backend.ts ageBound(). `d`: server's now, `e`: length. */
  :: d_step { nempty(sub[c]) && ROOM(c) -> sub[c]?z,t,d,e,l;
       printf("t%d client %d reads the message (claim %d, token %d, server time %d)\n", now, c, z, t, d);
       if
       :: MEANT(c, z) && (ph[c] == NEW || ph[c] == WAIT) ->
#ifdef NO_AGEBOUND
            take(c, t, now + e, l); confirm[c] = 1; OWED(c)
#else
            if
            :: d >= diff[c] && d - diff[c] <= now && (d - diff[c] + e - now) * 2 >= e -> take(c, t, d - diff[c] + e, l); confirm[c] = 1; OWED(c)
            :: else -> ph[c] = CONFIRM; tok[c] = t; cmd[c]!REN,cl[c],now,t,0
            fi
#endif
       :: !MEANT(c, z) ->
#ifdef NO_UNKNOWN
            skip
#else
            cmd[c]!REL,z,0,0,0; rel[z] = 1                               /* no caller here wants it */
#endif
       :: else                                                          /* it came twice, or the answer was faster */
       fi;
       z = 0; t = 0; e = 0; d = 0; l = 0 }
  /* renewal.ts: confirms a pushed grant, renews. */
  :: d_step { BELIEVES(c) && !renewing[c] && (confirm[c] || rens[c] < RENS) && ROOM(c) ->
       if :: confirm[c] -> confirm[c] = 0 :: else -> rens[c]++ fi;
       renew(c, SHORT(c)) }
#ifdef BRIEF
  /* the same for a shorter lease: Lock.renew(), or the end of a fixed lease (hold.ts renewal()) */
  :: d_step { BELIEVES(c) && rens[c] < RENS && ROOM(c) -> rens[c]++; renew(c, 1) }
#endif
#if LH > 0
  /* The lock passes to the next caller of this process: hand-off-budget.ts handOff(), local-queue.ts renewBeside(). */
  :: d_step { BELIEVES(c) && lhs[c] < LH && INBLOCK(c) && (valid[c] - now) * 2 >= LEASE && ROOM(c) ->
       lhs[c]++; tok[c]++; rw[c] = 0; seen[c] = 0;
       printf("t%d client %d passes the lock on inside, token %d\n", now, c, tok[c]);
       if :: nexttok[c] == 0 -> assert(tok[c] > maxtok); maxtok = tok[c]             /* G3 */
          :: else -> assert(tok[c] < nexttok[c]) fi;                                 /* the token of a stale holder is smaller than later ones */
       OWED(c); proveit(c) }
#endif
#ifdef RESOURCE
  /* The work: reads, (any pause), writes; the resource looks at the token both times. */
  :: d_step { BELIEVES(c) && rw[c] == 0 -> if :: ACCEPTED(c) -> fence = tok[c]; seen[c] = value; rw[c] = 1 :: else -> rw[c] = 2 fi }
  :: d_step { ph[c] == HOLD && rw[c] == 1 -> rw[c] = 2;
       if :: ACCEPTED(c) -> fence = tok[c]; assert(value == seen[c]); value++ :: else fi; seen[c] = 0 }   /* I2: no update is lost */
#endif
  /* The end of a hold, in time; or its loss, which is released all the same: a renewal under way may have lengthened the lease. */
  :: d_step { ph[c] == HOLD && ROOM(c) ->
#ifdef NO_LOSTRELEASE
       if :: now >= valid[c] -> closed[cl[c]] = 1; forget(c) :: else -> close(c) fi
#else
       close(c)
#endif
     }
  /* releases.ts again() */
  :: d_step { AGAIN(c, CLAIM(c, 1)) && ROOM(c) -> z = CLAIM(c, 1); late[z] = (rel[z] == 3 -> 0 : late[z]); rel[z] = 1; cmd[c]!REL,z,0,0,0; z = 0 }
#if M > 1
  :: d_step { c == BUSY && AGAIN(c, CLAIM(c, 2)) && ROOM(c) -> z = CLAIM(c, 2); late[z] = (rel[z] == 3 -> 0 : late[z]); rel[z] = 1; cmd[c]!REL,z,0,0,0; z = 0 }
#endif
#ifdef F_CRASH
  :: d_step { c == 0 && faults > 0 && ph[0] != DEAD && used[0] > 0 -> faults--; printf("client 0 dies\n"); forget(0); ph[0] = DEAD; up[0] = UNSUB; TWINDIES }
  :: d_step { c == 0 && faults > 0 && ph[0] != DEAD && used[0] > 0 -> faults--; printf("client 0 dies, its line stays half-open\n"); forget(0); ph[0] = DEAD; up[0] = HALF; TWINDIES }
#endif
  od
}
