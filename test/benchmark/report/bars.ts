/** One line of the table of issue 4: what was asked for, and what was measured. */
export interface Bar {
  readonly what: string;
  readonly asked: string;
  /** Undefined: not measured in this run. */
  readonly measured: number | undefined;
  readonly passes: boolean | undefined;
}

export function atLeast(what: string, bound: number, measured: number | undefined): Bar {
  return { what, asked: `≥ ${bound}`, measured, passes: measured === undefined ? undefined : measured >= bound };
}

export function atMost(what: string, bound: number, measured: number | undefined): Bar {
  return { what, asked: `≤ ${bound}`, measured, passes: measured === undefined ? undefined : measured <= bound };
}

export function exactly(what: string, bound: number, measured: number | undefined): Bar {
  return { what, asked: `= ${bound}`, measured, passes: measured === undefined ? undefined : measured === bound };
}

export function ratio(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined ? undefined : over / under;
}
