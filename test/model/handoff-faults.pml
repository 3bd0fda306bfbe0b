/* Time, and what goes wrong. Part of handoff.pml. */

inline expire() {                                                      /* SET ... PXAT: the record vanishes by itself */
  if
  :: holder != 0 && sclk >= hexp ->
     /* G4, G9: no live client lets a lease run out that it does not want, unless it still tries to give it back */
     o = OWNER(holder);
     assert(ph[o] == DEAD || !closed[holder] || rel[holder] != 0 || ex[holder] || nempty(sub[o]) || cmd[o]??[REL,eval(holder),_,_,_]);
#ifdef ASKAT
     /* G5: of the waiters behind a dead holder, one asks when its lease is over, not later */
     if
     :: ph[o] == DEAD ->
        for (i : 0 .. N-1) {
          waits = waits || ph[i] == WAIT;
          asks = asks || ((ph[i] == NEW || ph[i] == WAIT) && (out[cl[i]] || asksoon[i] || askat[i] <= now))
        };
        assert(asks || !waits); i = 0; waits = 0; asks = 0
     :: else
     fi;
#endif
     holder = 0; hexp = 0; htok = 0; prov = 0; o = 0
  :: else
  fi;
#ifdef QUIET
  if :: reg != 0 && sclk >= regexp -> reg = 0; regexp = 0 :: else fi
#endif
}
inline lostmemory() {                                                  /* what the clients have learnt from the server is void */
  if :: holder != 0 -> ex[holder] = 1 :: else fi;
  holder = 0; hexp = 0; htok = 0; prov = 0
}

proctype World() {
end:
  do
  :: d_step { now < MAXT -> now++; sclk++; printf("            tick %d (server %d)\n", now, sclk); expire() }
#ifdef F_RESET
  :: d_step { faults > 0 && (nempty(cmd[0]) || nempty(rep[0])) && empty(old) -> faults--;
       printf("t%d connection of client 0 breaks\n", now);
       do :: len(cmd[0]) > 0 -> cmd[0]?ty,x,sent,arg,brief; old!ty,x,sent,arg,brief :: else -> break od; ty = 0; x = 0; sent = 0; arg = 0; brief = 0;
       broken(0) }
#endif
#ifdef F_MESSAGE
  :: d_step { faults > 0 && nempty(sub[0]) -> faults--; sub[0]?_,_,_,_,_ }                                     /* lost */
#endif
#ifdef F_TWICE
  :: d_step { faults > 0 && nempty(sub[0]) && len(sub[0]) < 2 -> faults--; sub[0]?<x,arg,at,span,g>; sub[0]!x,arg,at,span,g; x = 0; arg = 0; at = 0; span = 0; g = 0 }
#endif
#ifdef F_UNSUB
  :: d_step { faults > 0 && up[0] == SUB && ph[0] != DEAD -> faults--; printf("client 0 is unsubscribed\n"); do :: len(sub[0]) > 0 -> sub[0]?_,_,_,_,_ :: else -> break od; up[0] = UNSUB }
#endif
#ifdef F_REFUSED
  :: d_step { faults > 0 && !refuses -> faults--; refuses = 1 }
#endif
#ifdef F_MEMORY
  :: d_step { faults > 0 -> faults--; oom = 1 }
#endif
#ifdef F_RESURRECTED
  /* a failover to a replica that missed the last cancel: a claim that was given up stands in the queue */
  :: d_step { faults > 0 && closed[1] && rel[1] == 0 && holder != 1 && score[1] == 0 -> faults--; score[1] = NC + 1; standing[1] = LISTENING }
#endif
#ifdef F_LOSS
  /* restart with nothing: takes longer than the grants of one command may be ahead of the clock, and every connection breaks */
  :: d_step { faults > 0 && now + LOSS <= MAXT -> faults--; printf("redis restarts empty\n");
       lostmemory(); reg = 0; now = now + LOSS; sclk = sclk + LOSS;
       for (x : 1 .. NC) { score[x] = 0; standing[x] = 0; arr[x] = 0; excused[x] = 0; listened[x] = 0 }; x = 0;
       do :: len(old) > 0 -> old?_,_,_,_,_ :: else -> break od;
       for (x : 0 .. N-1) {
         do :: len(cmd[x]) > 0 -> cmd[x]?_,_,_,_,_ :: else -> break od;
         do :: len(sub[x]) > 0 -> sub[x]?_,_,_,_,_ :: else -> break od;
         up[x] = UNSUB; broken(x) }; x = 0 }
#endif
#ifdef F_DELETED
  :: d_step { faults > 0 && holder != 0 -> faults--; printf("the record is deleted by hand\n"); lostmemory() }
#endif
#ifdef F_BACK
  :: d_step { faults > 0 && sclk > 4 -> faults--; sclk = sclk - BACK; printf("server clock steps back to %d\n", sclk) }
#endif
  od
}
