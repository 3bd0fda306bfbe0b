import { readFileSync } from 'node:fs';
import { snippet } from '../../scripts/write-snippets.mjs';
import { type Exhibit, type Side, sides, type Step, type Verdict } from './exhibit.js';
import { Stage } from './stage.js';

/** One side of an exhibit: its code, and what its latest run has shown so far. */
export interface Shown {
  readonly code: string;
  steps: Step[];
  verdict?: Verdict | undefined;
  /** Why the run ended without a verdict: a fault of the museum, not of the lock. */
  error?: string | undefined;
}

/** An exhibit, as the table and the page show it. */
export interface Piece extends Pick<Exhibit, 'title' | 'problem' | 'remedy' | 'docs'> {
  readonly name: string;
  readonly theirs: Shown;
  readonly ours: Shown;
}

export const isAsExpected = ({ theirs, ours }: Piece): boolean =>
  theirs.verdict?.broken === true && ours.verdict?.broken === false;

/** The exhibits of a visit, and their runs. */
export class Gallery {
  private constructor(private readonly exhibits: ReadonlyMap<string, { exhibit: Exhibit; piece: Piece }>) {}

  static async open(names: readonly string[]): Promise<Gallery> {
    const entries = names.map(async (name) => {
      const { default: exhibit } = (await import(`./exhibits/${name}.js`)) as { default: Exhibit };
      // npm starts its scripts in the repository.
      const source = readFileSync(`sample/museum/exhibits/${name}.ts`, 'utf8');
      const shown = (side: Side): Shown => ({ code: snippet(source, side)!.trimEnd(), steps: [] });
      const { title, problem, remedy, docs } = exhibit;
      const piece = { name, title, problem, remedy, docs, theirs: shown('theirs'), ours: shown('ours') };
      return [name, { exhibit, piece }] as const;
    });
    return new Gallery(new Map(await Promise.all(entries)));
  }

  get pieces(): Piece[] {
    return [...this.exhibits.values()].map(({ piece }) => piece);
  }

  piece(name: string): Piece {
    return this.exhibits.get(name)!.piece;
  }

  /** Runs both sides of an exhibit. `changed` is called when one begins, after each step, and at its end. */
  async run(name: string, signal: AbortSignal, changed: (side: Side) => void): Promise<void> {
    const { exhibit, piece } = this.exhibits.get(name)!;
    for (const side of sides) Object.assign(piece[side], { steps: [], verdict: undefined, error: undefined });
    for (const side of sides) {
      changed(side);
      const onStep = (step: Step): void => {
        const { at, ...without } = step;
        // The steps are those of both sides, and the lines are of one.
        piece[side].steps.push(at !== undefined && piece[side].code.includes(at) ? step : without);
        changed(side);
      };
      try {
        await using stage = await Stage.open({ name, exhibit, side, signal, onStep });
        piece[side].verdict = await exhibit.run(stage);
      } catch (error) {
        signal.throwIfAborted();
        piece[side].error = (error as Error).message;
      }
      changed(side);
    }
  }
}
