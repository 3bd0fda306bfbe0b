/** Lets a test wait for what it expects to become true; whoever changes something says so. */
export interface Conditions {
  changed(): void;
  until(condition: () => boolean): Promise<void>;
}

export function conditions(): Conditions {
  const open = new Set<() => void>();
  return {
    changed() {
      for (const look of [...open]) look();
    },
    async until(condition) {
      if (condition()) return;
      await new Promise<void>((resolve) => {
        const look = (): void => {
          if (!condition()) return;
          open.delete(look);
          resolve();
        };
        open.add(look);
      });
    },
  };
}

/** Settles when it is later than that, by `performance.now()`: what ends by time alone has ended. */
export async function past(moment: number): Promise<void> {
  while (performance.now() <= moment)
    await new Promise((resolve) => setTimeout(resolve, moment - performance.now() + 1));
}
