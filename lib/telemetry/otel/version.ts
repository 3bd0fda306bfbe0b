/** The build writes the version of the package here (scripts/roll-up.mjs). */
export const version: string = '0.0.0';
