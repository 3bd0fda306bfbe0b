/**
 * What spin is asked. A scenario is explored whole, with every protection in place: each property must hold. Then its mutants: one
 * protection is taken away (-D), and spin must find the property broken that it stands for.
 */

/** How each property shows in pan's report: a piece of its assertion. */
export const properties = {
  'one holder, and nobody believes in a lease that he has not': /now<valid\[/,
  'tokens increase': /htok>maxtok/,
  'no live waiter is overtaken': /arr\[i\]<arr\[/,
  'no waiter is lost': /asksoon\[|acceptance cycle/,
  'a dead waiter costs one claim window at most': /posthumous\[/,
  'no lease runs out for nobody': /rel\[holder\]/,
  'nobody waits behind himself': /holder==x/,
  'no update is lost': /value==seen/,
  'nobody beside a writer, no more permits than there are': /wants\[i\]==wants\[|live\+weight\[/,
  'whoever fits is not kept waiting': /kind==wants\[\(q\[i\]-1\)\]/,
  'what comes back is there for others': /used==live/,
};

/**
 * @typedef {keyof typeof properties} Property
 * @typedef {object} Mutant
 * @property {string} without the flag: what is taken away
 * @property {Property} breaks
 * @property {string} title what is missing, and where it stands
 * @property {string[]} [flags] beside those of the scenario
 * @typedef {object} Scenario
 * @property {'handoff' | 'live' | 'sharing'} model
 * @property {string} title
 * @property {string[]} flags
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
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a lease counted from the answer, not from the sending of the question (replies.ts)',
      },
      {
        without: 'NO_AGEBOUND',
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a pushed grant counted from the moment it is read (redis-backend.ts, server-clock.ts)',
      },
      {
        without: 'NO_OWNER',
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a release that frees whatever is held (release.lua)',
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
        title: 'a free lock that is given to whoever asks first, whoever stands in the queue (acquire.lua)',
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
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a message taken for whichever claim is open (lock-client.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'three clients that subscribe only when they have to wait',
    flags: ['-DN=3', '-DUNHEARD_FIRST', '-DMAXT=2', '-DNOTOKENS', '-DWINDOW=1'],
    mutants: [
      {
        without: 'NO_ASKED',
        breaks: 'no live waiter is overtaken',
        title: 'a first waiter passed over because nobody listens for it yet (acquire.lua, ADR 0033)',
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
        title: 'a waiter that nobody listens for thrown out of the queue (serve.lua)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a client that dies, waiting or holding, its line cut or half-open',
    flags: ['-DM=2', '-DBUSY=1', '-DF_CRASH', '-DWINDOW=1', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_NUMSUB',
        breaks: 'a dead waiter costs one claim window at most',
        title: 'a hand-off that does not ask who listens (serve.lua)',
      },
      {
        without: 'NO_DEAFAFTER',
        breaks: 'a dead waiter costs one claim window at most',
        title: 'a waiter that did not take its grant up and is granted the lock again (serve.lua)',
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
        breaks: 'no lease runs out for nobody',
        title: 'questions that are answered however late they are read (acquire.lua)',
      },
      {
        without: 'NO_LATERELEASE',
        breaks: 'no lease runs out for nobody',
        title: 'no second release behind a question that went unanswered (releases.ts)',
      },
      {
        without: 'NO_REPEAT',
        breaks: 'no lease runs out for nobody',
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
        breaks: 'nobody waits behind himself',
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
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a renewal that may bring the end of a lease forward (renew.lua)',
      },
      {
        without: 'NO_LOSTRELEASE',
        breaks: 'no lease runs out for nobody',
        title: 'a lease that is over on the client and not given back (local-queue.ts)',
      },
    ],
  },
  {
    model: 'handoff',
    title: 'a place in the queue that is taken over by a caller with a shorter lease',
    flags: ['-DPOLLS=1', '-DBRIEFCALLER', '-DF=0', '-DNOTOKENS'],
    mutants: [
      {
        without: 'NO_NEVERSHORTEN',
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a question that may cut short the grant whose message it crosses (acquire.lua)',
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
        breaks: 'one holder, and nobody believes in a lease that he has not',
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
    title: 'local hand-off, and a record that somebody deletes',
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
        title: 'more local hand-offs than tokens were reserved (tenure.ts)',
        flags: ['-DRESERVE=0'],
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
        breaks: 'no lease runs out for nobody',
        title: 'a grant that nobody wants and nobody gives back (lock-client.ts)',
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
        breaks: 'one holder, and nobody believes in a lease that he has not',
        title: 'a message that goes out before the record is written (serve.lua)',
      },
    ],
  },
  {
    model: 'live',
    title: 'whoever waits gets the lock, though his line breaks and grants run out unread',
    flags: ['-DF_LINE', '-DF_CRASH', '-DLAPSE'],
    mutants: [
      { without: 'NO_POLL', breaks: 'no waiter is lost', title: 'waiters that do not ask by themselves (claim.ts)' },
      {
        without: 'NO_CHECK',
        breaks: 'no waiter is lost',
        title: 'a half-open line that nobody looks at (subscriber.ts)',
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
    title: 'whoever waits gets the lock, though he can never subscribe',
    flags: ['-DDEAF', '-DF_CRASH', '-DLAPSE'],
    mutants: [
      {
        without: 'NO_ASKED',
        breaks: 'no waiter is lost',
        title: 'only those served that are listened for (serve.lua)',
      },
    ],
  },
  {
    model: 'live',
    title: 'whoever waits gets the lock, beside a process that always has callers of its own',
    flags: ['-DLOCAL', '-DF_LINE'],
    mutants: [
      {
        without: 'NO_MAXLOCAL',
        breaks: 'no waiter is lost',
        title: 'local hand-off without a bound (tenure.ts)',
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
        breaks: 'nobody beside a writer, no more permits than there are',
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
        title: 'newcomers who are let in to the readers, whoever stands in the queue (ask.lua)',
      },
      {
        without: 'NO_BATCH',
        breaks: 'whoever fits is not kept waiting',
        title: 'a release that calls one reader only (serve.lua)',
      },
      {
        without: 'NO_PLACE',
        breaks: 'no live waiter is overtaken',
        title: 'a called reader whose grant ran out at the end of the queue (sharing.lua, ADR 0072)',
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
        breaks: 'nobody beside a writer, no more permits than there are',
        title: 'permits that nobody counts (sharing.lua)',
      },
      {
        without: 'NO_BLOCK',
        breaks: 'no live waiter is overtaken',
        title: 'small wishes that walk past a big one (serve.lua)',
      },
      {
        without: 'NO_RETURN',
        breaks: 'what comes back is there for others',
        title: 'permits of the dead that nobody takes back (sharing.lua)',
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
