export interface RedlockSettings {
  retryCount?: number;
  retryDelay?: number;
  retryJitter?: number;
}

export const redlockDefaults = 'defaults: 10 retries, 200 ms apart';

/** The same for every library of the redlock family: as often as the hand-written floor, for as long as it takes. */
export const polling = {
  told: 'retries without end, 10 ± 5 ms apart',
  settings: { retryCount: -1, retryDelay: 10, retryJitter: 5 },
} as const;
