/** The checks of spin. A scenario is explored completely, with every protection: each property must hold. Then its mutants: one
 * protection is removed (-D), and spin must find its property broken.
 */

/** How each property shows in pan's report: a piece of its assertion. */
export const properties = {
  'one holder, and no client believes in a lease that it has not': /now<valid\[/,
  'tokens increase': /htok>maxtok/,
  'no live waiter is overtaken': /arr\[i\]<arr\[/,
  'no waiter is lost': /asksoon\[|acceptance cycle/,
  'a dead waiter costs one claim window at most': /posthumous\[/,
  'no lease runs without a holder': /rel\[holder\]/,
  'no claim waits behind itself': /holder==x/,
  'no update is lost': /value==seen/,
  'no other holder beside a writer, no more permits than there are': /wants\[i\]==wants\[|live\+weight\[/,
  'a waiter that fits does not wait': /kind==wants\[\(q\[i\]-1\)\]/,
  'released permits are free for others': /used==live/,
  'a hold lasts as requested, or its holder learns its loss': /owed\[/,
  'a waiter behind a dead holder asks when its lease is over': /waits/,
};

/**
 * @typedef {keyof typeof properties} Property
 * @typedef {object} Mutant
 * @property {string} without the flag: what is taken away
 * @property {Property} breaks
 * @property {string} title what is missing, and in which file it is
 * @property {string[]} [flags] beside those of the scenario
 * @typedef {object} Scenario
 * @property {'handoff' | 'live' | 'sharing'} model
 * @property {string} title
 * @property {string[]} flags
 * @property {boolean} [compact] of each state only a hash of 64 bits is kept: of twenty million, one is missed with a chance of 1 in 100,000
 * @property {Mutant[]} mutants
 */

/** @type {Scenario[]} */
export const scenarios = [
  {
    model: 'handoff',
    title: 'two clients, one of which comes back, with pauses of any length',
    flags: ['-DM=2', '-DF=0'],
    mutants: [
      {
        without: 'NO_SENT',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a lease counted from the reply, not from the sending of the request (replies.ts)',
      },
      {
        without: 'NO_AGEBOUND',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a pushed grant counted from the moment it is read (redis-backend.ts, server-clock.ts)',
      },
      {
        without: 'NO_OWNER',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a release that frees the lock of another holder (release.lua)',
      },
      {
        without: 'NO_REGISTER',
        breaks: 'tokens increase',
        title: 'tokens from the clock alone (grant.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'three clients, a message that is lost',
    flags: ['-DN=3', '-DF_MESSAGE', '-DMAXT=3', '-DNOTOKENS', '-DWINDOW=1'],
    mutants: [
      {
        without: 'NO_STAY',
        breaks: 'no waiter is lost',
        title: 'a pushed grant that takes the queue entry away before it is confirmed (serve.lua, ADR 0011)',
      },
      {
        without: 'NO_SERVEFIRST',
        breaks: 'no live waiter is overtaken',
        title: 'a free lock that is granted to the next request, past the queue (acquire.lua)',
      },
      {
        without: 'NO_PLACE',
        breaks: 'no live waiter is overtaken',
        title: 'a waiter that asks again at the end of the queue (acquire.lua)',
        flags: ['-DPOLLS=1'],
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a message that comes twice, for a client with two claims',
    flags: ['-DM=2', '-DF_TWICE', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_CLAIMID',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a message taken for any open claim (lock-client.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'three clients that subscribe only when they have to wait',
    flags: ['-DN=3', '-DUNHEARD_FIRST', '-DMAXT=2', '-DNOTOKENS', '-DWINDOW=1'],
    mutants: [
      {
        without: 'NO_POLLING',
        breaks: 'no live waiter is overtaken',
        title: 'a first waiter skipped because its client is not subscribed yet (acquire.lua, ADR 0011)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'three clients, a subscription that breaks and is made again',
    flags: ['-DN=3', '-DM=2', '-DBUSY=2', '-DF_UNSUB', '-DMAXT=1', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_KEEP',
        breaks: 'no waiter is lost',
        title: 'a waiter without a subscription removed from the queue (serve.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a client that dies, waiting or holding, its connection cut or half-open',
    flags: ['-DM=2', '-DBUSY=1', '-DF_CRASH', '-DWINDOW=1', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_NUMSUB',
        breaks: 'a dead waiter costs one claim window at most',
        title: 'a hand-off that does not ask who listens (serve.lua)',
      },
      {
        without: 'NO_UNREACHABLEAFTER',
        breaks: 'a dead waiter costs one claim window at most',
        title: 'a waiter that did not confirm its grant and is granted the lock again (serve.lua)',
      },
      {
        without: 'NO_WINDOW',
        breaks: 'a dead waiter costs one claim window at most',
        title: 'pushed grants for a whole lease (serve.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a connection that breaks, commands that run late or never, callers that give up',
    flags: ['-DF_RESET', '-DGIVEUP', '-DMAXT=5', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_NOTAFTER',
        breaks: 'no lease runs without a holder',
        title: 'acquires that are executed no matter how late they are read (acquire.lua)',
      },
      {
        without: 'NO_LATERELEASE',
        breaks: 'no lease runs without a holder',
        title: 'no second release after an acquire without a reply (releases.ts)',
      },
      {
        without: 'NO_REPEAT',
        breaks: 'no lease runs without a holder',
        title: 'releases that are sent once (releases.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a connection that breaks under a client that comes back',
    flags: ['-DM=2', '-DF_RESET', '-DMAXT=3', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_IDEMPOTENT',
        breaks: 'no claim waits behind itself',
        title: 'a holder that asks again taken for a newcomer (acquire.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'renewals, for a shorter lease too, over a connection that breaks',
    flags: ['-DRENS=1', '-DBRIEF', '-DF_RESET', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_NEVERSHORTEN',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a renewal that may bring the end of a lease forward (renew.lua)',
      },
      {
        without: 'NO_LOSTRELEASE',
        breaks: 'no lease runs without a holder',
        title: 'a lease that is over on the client and not given back (local-queue.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a place in the queue that is taken over by a caller with a shorter lease',
    flags: ['-DPOLLS=1', '-DBRIEFCALLER=1', '-DF=0', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_NEVERSHORTEN',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'an acquire that may shorten the grant whose message it crosses (acquire.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'leases shorter than a command may take',
    flags: ['-DCT=3', '-DRENS=1', '-DF_RESET', '-DMAXT=5'],
    mutants: [
      {
        without: 'NO_TOKENCHECK',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a renewal of an earlier grant that lengthens a later one (renew.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a server that restarts empty, and a resource that checks tokens',
    flags: ['-DF_LOSS', '-DRESOURCE'],
    mutants: [
      {
        without: 'NO_CLOCKTOKEN',
        breaks: 'tokens increase',
        title: 'tokens from a register alone (grant.lua)',
      },
      {
        without: 'NO_FENCE',
        breaks: 'no update is lost',
        title: 'a resource that takes every token',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'local hand-off, and a record that is deleted by hand',
    flags: ['-DLH=1', '-DF_DELETED', '-DRESOURCE', '-DMAXT=2'],
    mutants: [
      {
        without: 'NO_FENCE',
        breaks: 'no update is lost',
        title: 'a resource that takes every token',
      },
    ],
  },
  {
    model: 'handoff',
    title: "local hand-off, and a server's clock that is set back",
    flags: ['-DLH=1', '-DF_BACK'],
    mutants: [
      {
        without: 'NO_RESERVE',
        breaks: 'tokens increase',
        title: 'tokens for local hand-offs that are not written down (grant.lua)',
      },
      {
        without: 'NO_BLOCKEND',
        breaks: 'tokens increase',
        title: 'more local hand-offs than tokens were reserved (hand-off-budget.ts)',
        flags: ['-DRESERVE=0'],
      },
    ],
  },
  {
    model: 'handoff',
    title: 'tokens that are reserved faster than time passes, and a server that restarts empty',
    flags: ['-DM=2', '-DLH=1', '-DRESERVE=24', '-DLOSS=2', '-DF_LOSS'],
    mutants: [
      {
        without: 'NO_BEHIND',
        breaks: 'tokens increase',
        title: "tokens that are reserved ahead of the server's clock (register.lua)",
      },
    ],
  },
  {
    model: 'handoff',
    title: 'tokens that are reserved, a quiet time, and a clock that is set back',
    flags: ['-DM=2', '-DRESERVE=24', '-DQUIET', '-DBACK=1', '-DF_BACK'],
    mutants: [
      {
        without: 'NO_GUARD',
        breaks: 'tokens increase',
        title: 'a register that is forgotten within the guard window (register.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'two turns of one process, and a renewal that is refused once',
    flags: ['-DLASTS', '-DM=2', '-DLH=1', '-DF_REFUSED', '-DMAXT=2'],
    mutants: [
      {
        without: 'NO_TENURE',
        flags: ['-DNO_WATCHDOG'],
        breaks: 'a hold lasts as requested, or its holder learns its loss',
        title: 'an unanswered renewal of one turn that blocks those of the next (local-queue.ts)',
      },
      {
        without: 'NO_AGAIN',
        flags: ['-DNO_WATCHDOG'],
        breaks: 'a hold lasts as requested, or its holder learns its loss',
        title: 'a hand-off behind an unanswered renewal that nothing proves (local-queue.ts)',
      },
      {
        without: 'NO_RETRY',
        breaks: 'a hold lasts as requested, or its holder learns its loss',
        title: 'a refused renewal that is not tried again (renewal.ts)',
      },
      {
        without: 'NO_LATE',
        breaks: 'a hold lasts as requested, or its holder learns its loss',
        title: 'a lease that is not extended where its grant came late (hold.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a hand-off to a claim with a short lease, whose process dies, and a waiter behind it',
    flags: ['-DASKAT', '-DN=3', '-DF_CRASH', '-DNOTOKENS', '-DMAXT=2', '-DLEASE=3', '-DWINDOW=3'],
    mutants: [
      {
        without: 'NO_TELL',
        breaks: 'a waiter behind a dead holder asks when its lease is over',
        title: 'a waiter that is not told of a short lease that is handed on (tell.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'the same, where a second claim of the dead process waits ahead of another process',
    flags: ['-DASKAT', '-DTWINS', '-DN=4', '-DF_CRASH', '-DNOTOKENS', '-DMAXT=2', '-DLEASE=3', '-DWINDOW=3'],
    compact: true,
    mutants: [
      {
        without: 'NO_OTHER',
        breaks: 'a waiter behind a dead holder asks when its lease is over',
        title: 'a message to the first waiter only, which is of the dead process (tell.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'the same, where the claim takes a place over that waited for a longer lease',
    flags: ['-DASKAT', '-DBRIEFCALLER=1', '-DN=3', '-DF_CRASH', '-DNOTOKENS', '-DMAXT=2', '-DLEASE=3', '-DWINDOW=3'],
    mutants: [
      {
        without: 'NO_EARLIER',
        breaks: 'a waiter behind a dead holder asks when its lease is over',
        title: 'an answer that is older than the message, and counts (claim.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a failover that brings back a claim that was given up',
    flags: ['-DM=2', '-DF_RESURRECTED', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_UNKNOWN',
        breaks: 'no lease runs without a holder',
        title: 'an unwanted grant that is not released (lock-client.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a server without memory for a grant',
    flags: ['-DM=2', '-DF_MEMORY', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_PUBLISHLAST',
        breaks: 'one holder, and no client believes in a lease that it has not',
        title: 'a message that goes out before the record is written (serve.lua)',
      },
    ],
  },
  {
    model: 'live',
    title: 'every waiter gets the lock, even if its connection breaks and grants expire unread',
    flags: ['-DF_LINE', '-DF_CRASH', '-DLAPSE'],
    mutants: [
      { without: 'NO_POLL', breaks: 'no waiter is lost', title: 'waiters that do not ask by themselves (claim.ts)' },
      {
        without: 'NO_CHECK',
        breaks: 'no waiter is lost',
        title: 'a half-open connection that is not checked (subscriber.ts)',
      },
      {
        without: 'NO_EXPIRY',
        breaks: 'no waiter is lost',
        title: 'records that do not expire (record.lua)',
      },
    ],
  },
  {
    model: 'live',
    title: 'every waiter gets the lock, even if it can never subscribe',
    flags: ['-DNOSUB', '-DF_CRASH', '-DLAPSE'],
    mutants: [
      {
        without: 'NO_POLLING',
        breaks: 'no waiter is lost',
        title: 'only those served that are listened for (serve.lua)',
      },
    ],
  },
  {
    model: 'live',
    title: 'every waiter gets the lock, beside a process that always has callers of its own',
    flags: ['-DLOCAL', '-DF_LINE'],
    mutants: [
      {
        without: 'NO_MAXLOCAL',
        breaks: 'no waiter is lost',
        title: 'local hand-off without a bound (hand-off-budget.ts)',
      },
      {
        without: 'NO_REPLYTELLS',
        breaks: 'no waiter is lost',
        title: 'renewals that do not tell of waiters (local-queue.ts, ADR 0012)',
      },
    ],
  },
  {
    model: 'sharing',
    title: 'readers and writers, one of whom dies, and grants that run out unread',
    flags: ['-DRW', '-DCRASH', '-DLAPSE'],
    mutants: [
      {
        without: 'NO_KIND',
        breaks: 'no other holder beside a writer, no more permits than there are',
        title: 'a writer who is let in among readers (sharing.lua)',
      },
      {
        without: 'NO_BLOCK',
        breaks: 'no live waiter is overtaken',
        title: 'readers who walk past a writer that has to wait (serve.lua)',
      },
      {
        without: 'NO_SERVEFIRST',
        breaks: 'no live waiter is overtaken',
        title: 'newcomers that join the readers past the queue (ask.lua)',
      },
      {
        without: 'NO_BATCH',
        breaks: 'a waiter that fits does not wait',
        title: 'a release that calls one reader only (serve.lua)',
      },
      {
        without: 'NO_PLACE',
        breaks: 'no live waiter is overtaken',
        title: 'a called reader whose grant ran out at the end of the queue (sharing.lua, ADR 0011)',
      },
    ],
  },
  {
    model: 'sharing',
    title: 'permits, of which some want one and some two',
    flags: ['-DPERMITS', '-DCRASH', '-DLAPSE'],
    mutants: [
      {
        without: 'NO_COUNT',
        breaks: 'no other holder beside a writer, no more permits than there are',
        title: 'permits that are not counted (sharing.lua)',
      },
      {
        without: 'NO_BLOCK',
        breaks: 'no live waiter is overtaken',
        title: 'small wishes that walk past a big one (serve.lua)',
      },
      {
        without: 'NO_RETURN',
        breaks: 'released permits are free for others',
        title: 'permits of dead holders that are not freed (sharing.lua)',
      },
    ],
  },
  {
    model: 'sharing',
    title: 'a number of permits that changes while they are used',
    flags: ['-DLIMITS', '-DCRASH', '-DLAPSE'],
    mutants: [
      {
        without: 'NO_SERVEFIRST',
        breaks: 'no live waiter is overtaken',
        title: 'a newcomer who brings a larger number and takes what it gives himself (ask.lua, ADR 0074)',
      },
    ],
  },
];
