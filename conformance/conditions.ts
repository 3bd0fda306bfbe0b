/** Lets a test wait until a condition is true. Code that changes something the condition reads notifies it. */
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
