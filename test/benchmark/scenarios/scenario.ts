import type { Bar } from '../report/bars.js';
import type { Across, Results } from '../report/results.js';
import type { Stage } from '../stage/stage.js';

export interface Column {
  /** Of the measured values. */
  readonly key: string;
  readonly title: string;
  /** Digits behind the point; 0 where left out. */
  readonly digits?: number;
  /** What its rounds are brought to; the median where left out. */
  readonly across?: Across;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** The column by which drivers are compared: with the floor, and with the best peer. Left out: they are not. */
  readonly main?: { readonly column: string; readonly better: 'more' | 'less' };
  readonly columns: readonly Column[];
  /** Why it cannot be played on this machine. */
  missing?(): string | undefined;
  play(stage: Stage): Promise<void>;
  /** What issue 4 asks for. */
  bars(results: Results): Bar[];
}
