import type { LockConnection } from '../connection/lock.connection.js';
import type { FleetActivity } from '../operators/activity.js';
import type { ProcessActivity } from '../operators/activity-record.js';
import type { LockInfo } from '../core/lock-info.js';
import { LockConfigurationError, type LockError } from '../errors/lock-errors.js';
import type {
  ConsoleProblem,
  ConsoleView,
  FindResponse,
  Lists,
  ListResponse,
  ProcessResponse,
  Seen,
} from './responses.js';
import { InTurn } from './in-turn.js';
import { nearNames } from './near-names.js';
import { overviewOf, type Picture, pictureOf } from './overview.js';
import { processesOf } from './process-view.js';
import type { Turns } from '../diagnostics/turns.js';
import type { SeenProcess } from '../operators/wait-graph.js';
import { share, SharedQuestion } from './shared-question.js';

/** Processes that are read at once, and holds of this process that are known and shown. */
const mostProcesses = 500;
const mostHolds = 1_000;
const shownHolds = 50;
/** Looks at locks and searches that are kept. */
const mostLooks = 200;
/** Entries on one page of a list. */
const page = 100;
/** Of one search: names of which the first ones are shown, steps over the keys of Redis, and names that look like the text. */
const mostSuggestions = 1_000;
const shownNames = 50;
const mostSteps = 200;
const mostNear = 10;

interface Names {
  readonly names: readonly string[];
  readonly isWhole: boolean;
}

/** What was read of the fleet, as all answers show it. */
interface View {
  readonly seen: Seen;
  readonly picture: Picture;
  readonly own: ProcessActivity;
  readonly known: ReadonlySet<string>;
  readonly answer: ConsoleView;
}

/** What the console asks one connection. Answers are shared by all who ask within a second. */
export class ConsoleReader {
  private readonly view: SharedQuestion<View>;
  private readonly looks = new Map<string, SharedQuestion<LockInfo>>();
  private readonly searches = new Map<string, SharedQuestion<Names>>();
  private readonly finds = new Map<string, SharedQuestion<FindResponse | undefined>>();
  private readonly inTurn = new InTurn(share);
  /** The last answer of Redis: shown, with its age, while there is no newer one. */
  private fleet: { readonly found: FleetActivity; readonly at: number } | undefined;

  constructor(readonly connection: LockConnection) {
    this.view = new SharedQuestion((turns) => this.readView(turns));
  }

  async overview(): Promise<ConsoleView> {
    return (await this.freshView()).answer;
  }

  /** All names of locks that are known. */
  async known(): Promise<ReadonlySet<string>> {
    return (await this.freshView()).known;
  }

  async list(of: keyof Lists, from: number): Promise<ListResponse> {
    const { picture, seen } = await this.freshView();
    return pageOf({ ...seen, of }, picture[of], from, picture.counts[of].atMost);
  }

  /** The processes that wait for a lock. @param name its real name */
  async waiters(name: string, from: number): Promise<ListResponse> {
    const { picture, seen } = await this.freshView();
    return pageOf({ ...seen, of: 'waiters' }, picture.waits.get(name)?.waiters ?? [], from);
  }

  /** Undefined when no such process is known. @param id a client, a host, or `host:pid` */
  async process(id: string): Promise<ProcessResponse | undefined> {
    const { seen, picture, own } = await this.freshView();
    const views = processesOf(id, picture, own.client);
    const processes = views.map((view) => ({
      ...view,
      holds: view.holds.slice(0, page),
      moreHolds: view.moreHolds + Math.max(0, view.holds.length - page),
    }));
    return processes.length > 0 ? { ...seen, id, processes } : undefined;
  }

  /** What the first of these processes holds. */
  async holdsOf(id: string, from: number): Promise<ListResponse | undefined> {
    const { seen, picture, own } = await this.freshView();
    const [view] = processesOf(id, picture, own.client);
    return view && pageOf({ ...seen, of: 'holds' }, view.holds, from, view.holds.length + view.moreHolds);
  }

  /**
   * Locks that are held or waited for, by the beginning of their names. Undefined when too many people search.
   * @param shown a name as people see it; undefined: as it is
   */
  async find(text: string, shown?: (name: string) => string): Promise<FindResponse | undefined> {
    return this.share(this.finds, text, async () => this.inTurn.run((turns) => this.seek(text, shown, turns)));
  }

  private async seek(text: string, shown: ((name: string) => string) | undefined, turns: Turns): Promise<FindResponse> {
    const { picture, known } = await this.freshView();
    // Who sees other names than the real ones must not find out the real ones letter by letter.
    const isMeant = (name: string): boolean => (shown?.(name) ?? name).startsWith(text);
    const held = await this.search(shown ? '' : text);
    const names = new Set<string>();
    const look = (name: string): void => void (isMeant(name) && names.add(name));
    await turns.each(held.names, look);
    await turns.each(known, look);
    const found = (key: string): FindResponse['names'][number] => ({
      key,
      callers: picture.waits.get(key)?.lock.callers ?? 0,
    });
    const isWhole = held.isWhole && names.size <= shownNames;
    if (names.size > 0) return { text, names: (await firstOf(names, turns)).map(found), isWhole, near: [] };
    const beginning = text.slice(0, Math.max(...[':', '/', '.', '-', '_'].map((mark) => text.lastIndexOf(mark))) + 1);
    turns.interrupt();
    const others = shown || beginning === '' ? held : await this.search(beginning);
    turns.resume();
    const near = await nearNames(text, new Set([...others.names, ...known]), mostNear, turns, shown);
    return { text, names: [], isWhole, near: near.map(found) };
  }

  /** True where a look at this lock costs nothing: someone has just looked. */
  hasLooked(name: string): boolean {
    return this.looks.get(name)?.isFresh ?? false;
  }

  async inspect(name: string): Promise<LockInfo> {
    const { connection } = this;
    const options = { ...connection.defaults, wait: 0 };
    return this.share(this.looks, name, () => connection.inspect(name, ({ views }) => views.inspect(name), options));
  }

  /** After a release: the next question asks Redis. */
  forget(name: string): void {
    this.looks.delete(name);
  }

  /** The names that begin so, of held locks. */
  private search(startsWith: string): Promise<Names> {
    const { connection } = this;
    const options = { ...connection.defaults, wait: 0 };
    return this.share(this.searches, startsWith, async () => {
      try {
        return await connection.inspect(
          undefined,
          ({ views }) => views.firstNames(startsWith, mostSuggestions, mostSteps),
          options,
        );
      } catch (error) {
        // In Redisson's format there is no list of names.
        if (error instanceof LockConfigurationError) return { names: [], isWhole: false };
        throw error;
      }
    });
  }

  private async share<T>(asked: Map<string, SharedQuestion<T>>, key: string, question: () => Promise<T>): Promise<T> {
    for (const [other, { isFresh }] of asked) if (!isFresh || asked.size > mostLooks) asked.delete(other);
    let shared = asked.get(key);
    if (!shared) asked.set(key, (shared = new SharedQuestion(question)));
    return (await shared.ask()).value;
  }

  private async freshView(): Promise<View> {
    return (await this.view.ask()).value;
  }

  private async readView(turns: Turns): Promise<View> {
    const { connection } = this;
    const problem = await this.readFleet(turns);
    const { activity } = connection.operators;
    turns.interrupt();
    // These have turns of their own.
    const own = { ...(await activity.own()), ...(await activity.live.holds(mostHolds)) };
    turns.resume();
    const age = this.fleet && Math.round(performance.now() - this.fleet.at);
    const others = (this.fleet?.found.processes ?? [])
      .filter(({ client }) => client !== own.client)
      .map((process): SeenProcess => ({ ...process, age: process.age + age! }));
    const picture = await pictureOf([{ ...own, age: 0 }, ...others], turns);
    const seen = { connection: connection.name, age, problem };
    const { client, host, pid, held, waiting } = own;
    const holds = [...own.leads.first, ...own.long.first, ...own.holds.first];
    holds.sort((one, other) => other.heldFor - one.heldFor);
    const shown = { first: holds.slice(0, shownHolds), more: Math.max(0, held - shownHolds) };
    const answer = {
      ...(await overviewOf(picture, this.fleet?.found.total ?? 0, turns)),
      ...seen,
      own: { client, host, pid, held, waiting, holds: shown, tells: activity.isStarted },
    };
    return { seen, picture, own, known: namesIn(picture), answer };
  }

  private async readFleet(turns: Turns): Promise<ConsoleProblem | undefined> {
    const { connection } = this;
    const options = { ...connection.defaults, wait: 0 };
    try {
      const found = await connection.inspect(
        undefined,
        ({ activity }) => activity.fleet(mostProcesses, turns),
        options,
      );
      this.fleet = { found, at: performance.now() };
      return undefined;
    } catch (error) {
      return problemOf(error);
    }
  }
}

/** The first ones, in their order. */
async function firstOf(names: Iterable<string>, turns: Turns): Promise<string[]> {
  const first: string[] = [];
  const add = (name: string): void => {
    if (first.length === shownNames && name >= first.at(-1)!) return;
    const place = first.findIndex((other) => other > name);
    first.splice(place < 0 ? first.length : place, 0, name);
    if (first.length > shownNames) first.pop();
  };
  await turns.each(names, add, 2);
  return first;
}

/** @param counted how many there are, those included that are not in the list */
const pageOf = (
  seen: Seen & Pick<ListResponse, 'of'>,
  all: readonly unknown[],
  from: number,
  counted = all.length,
): ListResponse => ({
  ...seen,
  from,
  items: all.slice(from, from + page) as ListResponse['items'],
  total: all.length,
  more: counted - all.length,
});

function namesIn({ contended, leaders, long, incidents, seen }: Picture): ReadonlySet<string> {
  const names = new Set<string>();
  for (const locks of [contended, leaders, long, incidents]) for (const { key } of locks) names.add(key);
  for (const { holds } of seen) for (const { key } of holds.first) names.add(key);
  return names;
}

/** @throws what is no error of a lock */
export function problemOf(error: unknown): ConsoleProblem {
  const { code } = error as Partial<LockError>;
  if (code === 'LOCK_UNAVAILABLE') return 'unavailable';
  if (code === 'LOCK_CONFIGURATION') return 'refused';
  throw error;
}
