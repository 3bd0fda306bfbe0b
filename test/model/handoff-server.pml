/* One Redis server and its scripts: lib/backends/redis/scripts. Part of handoff.pml. */

/* --- what a mutant takes away --- */
#ifdef NO_NOTAFTER
#define TOOLATE false
#else
#define TOOLATE (sclk > arg)                                          /* acquire.lua: now > notAfter */
#endif
#ifdef NO_OWNER
#define MINE (holder != 0)
#else
#define MINE (holder == x)                                            /* release.lua: the record begins with the claim */
#endif
#ifdef NO_TOKENCHECK
#define SAMEGRANT true
#else
#define SAMEGRANT (htok <= arg && !(htok < arg && arg > (sclk * K > reg -> sclk * K : reg)))    /* renew.lua */
#endif
#ifdef NO_NUMSUB
#define LISTENS(z) true
#else
#define LISTENS(z) (up[OWNER(z)] != UNSUB)                            /* serve.lua: PUBSUB NUMSUB */
#endif
#ifdef NO_POLLING
#define SPOKEN LISTENING
#else
#define SPOKEN POLLING                                                 /* acquire.lua: ADR 0011 */
#endif
#ifdef NO_WINDOW
#define PUSHED LEASE
#else
#define PUSHED (LEASE < WINDOW -> LEASE : WINDOW)                     /* serve.lua: math.min(lease, window) */
#endif
#ifdef NO_BEHIND
#define BLOCKEND(t) (t + RESERVE)
#define FIRST sclk * K
#else
#define BOUND(t) (t > sclk * K -> t : sclk * K)
#define BLOCKEND(t) (t + RESERVE < BOUND(t) -> t + RESERVE : BOUND(t)) /* register.lua: what is reserved is never ahead of the clock */
#define FIRST (reg == 0 -> sclk * K : sclk * K - RESERVE)             /* register.lua issue(): a block ends at the clock; without a register the clock is past every token */
#endif
#ifdef NO_RESERVE
#define LASTTOKEN htok + RESERVE
#define RAISE(t) skip
#else
#define LASTTOKEN reg
#define RAISE(t) reg = (reg > BLOCKEND(t) -> reg : BLOCKEND(t)); outlive() /* register.lua */
#endif
#ifdef NO_GUARD
#define LIFE 0
#else
#define LIFE GUARD                                                    /* register.lua */
#endif

/* --- the scripts --- */
inline leave(z) { score[z] = 0; standing[z] = 0 }                      /* record.lua: leave_queue */
inline outlive() {
#ifdef QUIET
  regexp = sclk + LIFE
#else
  skip
#endif
}

/* grant.lua: the next token, the record. And the properties of a grant. */
inline give() {
#ifndef NOTOKENS
#ifdef NO_CLOCKTOKEN
  htok = reg + 1;
#else
#ifdef NO_REGISTER
  htok = sclk * K;
#else
  htok = (reg >= FIRST -> reg + 1 : FIRST);
#endif
#endif
#ifdef NO_RESERVE
  reg = htok;                                                          /* the caller gets a block that is not stored */
#else
  reg = BLOCKEND(htok);
#endif
  outlive();
  assert(htok > maxtok);                                               /* G3: larger than every token before, those of local hand-offs included */
  maxtok = htok;
  for (i : 0 .. N-1) { nexttok[i] = (i == OWNER(gr) -> 0 : (nexttok[i] == 0 -> htok : nexttok[i])) };
#endif
  holder = gr; hexp = sclk + span; prov = !whole;
  printf("          -> claim %d gets token %d until %d, provisional %d\n", gr, htok, hexp, prov);
  for (i : 1 .. NC) {                                                  /* G4: no live earlier waiter is overtaken, unless it had its chance */
    o = OWNER(i);
    assert(!(i != gr && arr[i] != 0 && arr[i] < arr[gr] && !closed[i] && cl[o] == i && (ph[o] == NEW || ph[o] == WAIT) && !excused[i]))
  };
  o = OWNER(gr);
  if :: ph[o] == DEAD && gr != x -> posthumous[gr]++;                  /* G4: a dead waiter is skipped, or costs one claim window where the server cannot know */
        assert(posthumous[gr] <= 1 && hexp - sclk <= WINDOW && !(listened[gr] && up[o] == UNSUB))
     :: else fi;
  if :: whole -> arr[gr] = 0 :: else -> excused[gr] = 1 fi;
  i = 0; o = 0
}

#ifdef ASKAT
inline askby(c, t) {                                                   /* claim.ts askBy(): the earlier of an answer and a message */
  if :: (ph[c] == NEW || ph[c] == WAIT) && (askat[c] == 0 || askat[c] > t) -> askat[c] = t :: else fi
}
#endif

/* tell.lua: the first subscribed waiter is notified of a lease that ends sooner than it may know; when that is of the holder's process, the first one of
   another process, too. The message arrives at once: who loses one asks when its line is back (handoff-client.pml). */
inline tellfirst(elsewhere) {
  g = 0;
  for (i : 1 .. NC) {
    if
    :: score[i] != 0 && i != gr && standing[i] == LISTENING && LISTENS(i) && !(elsewhere && SAMEPROCESS(i, gr)) && (g == 0 || score[i] < score[g]) -> g = i
    :: else
    fi
  };
  if :: g != 0 && cl[OWNER(g)] == g && up[OWNER(g)] == SUB -> askby(OWNER(g), now + hexp - sclk) :: else fi;
  i = 0
}
inline tell() {
#ifdef ASKAT
#ifndef NO_TELL
  if
  :: hexp - sclk < WINDOW ->
     tellfirst(0);
#ifndef NO_OTHER
     if :: g != 0 && SAMEPROCESS(g, gr) -> tellfirst(1) :: else fi;
#endif
     g = 0
  :: else
  fi
#else
  skip
#endif
#else
  skip
#endif
}

/* serve.lua: finds the first waiter that can be reached: `gr`, unless it is the caller's own turn. */
inline serve(caller) {
  at = 0;
  do
  :: g = 0; for (i : 1 .. NC) { if :: score[i] > at && (g == 0 || score[i] < score[g]) -> g = i :: else fi };
     if :: g == 0 || g == caller -> break :: else fi;
     at = score[g];
     if
     :: standing[g] == POLLING || (standing[g] == LISTENING && LISTENS(g)) -> gr = g; break
     :: else ->
        if :: listened[g] -> excused[g] = 1 :: else fi;                /* its line went down since it asked */
#ifdef NO_KEEP
        leave(g)
#else
        standing[g] = UNREACHABLE                                            /* passed over, keeps its place */
#endif
     fi
  od;
  if
  :: gr != 0 && oom && ty == REL ->                                    /* serve.lua: pcall(grant, ...) fails, no message is sent, the lock stays free */
#ifdef NO_PUBLISHLAST
     if :: up[OWNER(gr)] == SUB && len(sub[OWNER(gr)]) < 2 -> sub[OWNER(gr)]!gr,sclk * K,sclk,PUSHED,sclk * K :: else fi;
#endif
     oom = 0; gr = 0
  :: gr != 0 && !(oom && ty == REL) ->
#ifdef ASKAT
     span = (hasty[gr] -> 1 : PUSHED);
#else
     span = PUSHED;
#endif
     whole = 0; give();
#ifdef NO_STAY
     leave(gr);
#else
#ifndef NO_UNREACHABLEAFTER
     standing[gr] = UNREACHABLE;                                              /* ADR 0011: the entry stays until the grant is confirmed */
#endif
#endif
     if :: up[OWNER(gr)] == SUB && len(sub[OWNER(gr)]) < 2 -> sub[OWNER(gr)]!gr,htok,sclk,span,LASTTOKEN :: else fi;
     tell()
  :: else
  fi;
  at = 0; g = 0; i = 0
}

inline prolong() {
#ifdef NO_NEVERSHORTEN
  hexp = sclk + span
#else
  hexp = (hexp > sclk + span -> hexp : sclk + span)
#endif
}

#ifdef ASKAT
/* ask.lua: when to ask again, at the latest. */
inline askwhen() {
  span = (hexp - sclk > WINDOW -> WINDOW : hexp - sclk)
}
#endif

inline exec() {
  printf("t%d/%d  redis runs %e(claim %d, sent t%d)\n", now, sclk, ty, x, sent);
  rty = 0;
  if
  :: ty == ACQ && TOOLATE -> rty = LATE
  :: ty == ACQ && !TOOLATE ->
     if :: arr[x] == 0 && (holder != x || prov) -> for (i : 1 .. NC) { at = (arr[i] > at -> arr[i] : at) }; arr[x] = at + 1; at = 0; i = 0 :: else fi;
     excused[x] = 0; listened[x] = (up[OWNER(x)] == SUB);
#ifndef NO_SERVEFIRST
     if :: holder == 0 -> serve(x) :: else fi;
#endif
     if
     :: holder == 0 -> gr = x; span = (brief -> 1 : LEASE); whole = 1; give(); leave(x); tell(); rty = GRANTED
#ifndef NO_IDEMPOTENT
     :: holder == x -> rty = GRANTED;
        if :: prov -> prov = 0; span = (brief -> 1 : LEASE); prolong(); leave(x); arr[x] = 0 :: else fi;
        RAISE(htok)
#endif
     :: else -> rty = QUEUED;
        standing[x] = (up[OWNER(x)] != UNSUB -> LISTENING : SPOKEN);
#ifdef ASKAT
        hasty[x] = brief;
#endif
#ifndef NO_PLACE
        if :: score[x] == 0 ->
#endif
           score[x] = 0; for (i : 1 .. NC) { at = (score[i] > at -> score[i] : at) }; score[x] = at + 1; at = 0; i = 0
#ifndef NO_PLACE
           :: else fi
#endif
     fi;
     assert(!(holder == x && !prov && score[x] != 0))                  /* G6: no claim waits behind itself */
  :: ty == REL ->
     rty = RELEASED; leave(x); arr[x] = 0; excused[x] = 0; listened[x] = 0;
     if :: MINE -> holder = 0; hexp = 0; htok = 0; prov = 0 :: else fi;
     if :: holder == 0 -> serve(0) :: else fi
  :: ty == REN ->
     rty = LOST;
     if
#ifdef F_REFUSED
     :: refuses -> refuses = 0; rty = REFUSED
#endif
     :: else ->
        if
        :: holder == x && SAMEGRANT -> rty = RENEWED;
           if :: prov -> prov = 0; leave(x); arr[x] = 0 :: else fi;
           span = (brief -> 1 : LEASE); prolong();
           RAISE(arg)
        :: else
        fi
     fi
  fi;
  o = OWNER(x);
  if
  :: quiet || ph[o] == DEAD || len(rep[o]) == 4 -> skip
  :: else ->
     if :: rty == GRANTED || rty == RENEWED -> rep[o]!rty,x,htok,sent + hexp - sclk,sclk - sent,LASTTOKEN     /* replies.ts: counted from the sending */
#ifdef ASKAT
        :: rty == QUEUED -> askwhen(); rep[o]!rty,x,0,now + span,sclk - sent,0; at = 0; g = 0; i = 0
        :: else -> rep[o]!rty,x,0,0,sclk - sent,0
#else
        :: else -> rep[o]!rty,x,0,0,sclk - sent,0
#endif
     fi
  fi;
  printf("          -> answers %e\n", rty);
  x = 0; sent = 0; arg = 0; brief = 0; quiet = 0; gr = 0; span = 0; whole = 0; ty = 0; rty = 0; o = 0
}

/* An acquire that is older than CT does not run on an open connection: its sender gives the connection up first (command-connection.ts watch()). */
#define YOUNG(c, k) (k <= CT && cmd[c]?[ACQ,_,eval(now - k),_,_])
#define RUNS(c) (nempty(cmd[c]) && (!cmd[c]?[ACQ,_,_,_,_] || YOUNG(c, 0) || YOUNG(c, 1) || YOUNG(c, 2) || YOUNG(c, 3)))

proctype Server() {
end:
  do
  :: atomic {
       if
       :: RUNS(0) -> cmd[0]?ty,x,sent,arg,brief
       :: RUNS(1) -> cmd[1]?ty,x,sent,arg,brief
#if N > 2
       :: RUNS(2) -> cmd[2]?ty,x,sent,arg,brief
#endif
#if N > 3
       :: RUNS(3) -> cmd[3]?ty,x,sent,arg,brief
#endif
       :: nempty(old) -> old?ty,x,sent,arg,brief; quiet = 1
       fi;
       d_step { exec() }
     }
  od
}
