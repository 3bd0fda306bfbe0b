/** How fast a sale goes: how long a payment takes, and the time between two buyers, in ms. */
export const paces = {
  eye: { title: 'For the eye', payment: 900, gap: 380 },
  brisk: { title: 'Brisk', payment: 180, gap: 70 },
  full: { title: 'As fast as it goes', payment: 0, gap: 0 },
} as const;

export type Pace = keyof typeof paces;

export const isPace = (text: unknown): text is Pace => typeof text === 'string' && Object.hasOwn(paces, text);
