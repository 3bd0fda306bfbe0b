/** For libraries that renew only around a piece of work: the work waits until the lock is to be released. */
export function heldUntil(using: (work: () => Promise<void>) => Promise<unknown>): Promise<() => Promise<void>> {
  return new Promise((held, failed) => {
    const whole = using(
      () =>
        new Promise<void>((end) => {
          held(async () => {
            end();
            await whole;
          });
        }),
    );
    whole.catch(failed);
  });
}
