import type { CommandName } from './arguments.js';

const commands: Record<CommandName, { readonly usage: string; readonly help: string }> = {
  ls: {
    usage: 'ls [--starts-with TEXT] [--contended] [--older-than 1m] [--limit 1000]',
    help: `Lists the held locks: who holds them, for how long, and how many wait.
  --starts-with TEXT   only names that begin so
  --contended          only locks for which a process waits
  --older-than 1m      only locks that are held for longer
  --limit N            looks at N names at most (1000)`,
  },
  inspect: { usage: 'inspect NAME', help: 'Shows the holders of a lock with their tokens, and its queue.' },
  watch: {
    usage: 'watch [NAME] [--every 1s] [--starts-with TEXT] [--contended] [--older-than 1m]',
    help: `Shows a lock, or all of them, again and again until Ctrl-C. With --json, or without a terminal: a line for each change.
  --every 1s           how often it looks (2s for all locks)
  and the options of ls`,
  },
  tree: {
    usage: 'tree [--limit 1000]',
    help: `Shows who waits for whom, as the processes tell it: process, lock, process. Deadlocks are marked.
  --limit N            reads N processes at most, those with the longest waits (1000)`,
  },
  release: {
    usage: 'release NAME --token TOKEN | --client CLIENT --reason TEXT [--actor NAME] [--yes]',
    help: `Takes a lock from the holder with this token, and hands it to the next waiter. The holder's work does not end by that.
  --token TOKEN        as inspect shows it
  --client CLIENT      as inspect shows it, for a holder without a token (Redisson)
  --reason TEXT        why, for people who ask later
  --actor NAME         who does it (the user of this machine)
  --yes, -y            does not ask`,
  },
  doctor: {
    usage: 'doctor [--strict]',
    help: `Checks the servers as an application does when it starts: permissions, settings, version; and the round trip.
  --strict             remarks count as findings`,
  },
  run: {
    usage: 'run NAME [NAME...] [options] -- COMMAND [ARGUMENTS]',
    help: `Runs a command while it holds the lock, and ends it before the lock can be another's.
  --wait 10s           how long it waits for the lock (without end); 0: one try
  --lease 30s          for how long the others wait after a crash of this machine
  --grace 5s           the time from SIGTERM to the end of a lock that cannot be kept
  --min-hold 50s       no other process gets the lock for so long, even when the command ends sooner
  --max-hold 1h        the longest time of the command
  --shared             a read lock
  --limit N            one of N permits
  --label TEXT         what others see of it (the name of the command)
  --ticket             continues an exported lock: the environment variable LOCK_TICKET has the ticket
  --ticket-file FILE   the same with the ticket in a file`,
  },
};

const connection = `Where Redis is (REDIS_URL, or redis://127.0.0.1:6379):
  --url-file FILE      a file with the URL, or with one on each line
  --url URL            a URL without a password; may be repeated
  --sentinel NAME      the URLs are sentinels of this master group
  --cluster            the URLs are nodes of a Redis Cluster
  --quorum             the URLs are the 3, 5 or 7 servers of a quorum
  --redisson           the locks are in Redisson's format; the prefix is empty, unless it is given
  --config FILE        a module or JSON file with the options of createLockClient
  --prefix lock:       the keyPrefix of the application
  --timeout 1s         the longest time to wait for a reply of Redis
  --json               for programs
  --no-color           also with NO_COLOR, and without a terminal`;

export const usageOf = (command: CommandName): string => commands[command].usage;

export const helpOf = (command: CommandName): string =>
  `nestjs-redis-lock ${commands[command].usage}\n\n${commands[command].help}\n\n${connection}`;

export const help = (): string =>
  [
    'Locks of nestjs-redis-lock, from the shell.',
    '',
    ...Object.values(commands).map(({ usage, help: text }) => `  ${usage}\n      ${text.split('\n', 1)[0]}`),
    '',
    connection,
    '',
    'nestjs-redis-lock COMMAND --help says more. Exit codes: https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/reference/cli.md#exit-codes',
  ].join('\n');
