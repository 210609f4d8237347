/** A service that was started on demand ends when nobody has needed it for a while. */

export const idleEnd = 'idle';

type IdleWatch = {
  /** Something came: an entry of the log, or a request. What lies under `ownSubjects` is our own sign of life. */
  noteEntry(subject: string): void;
  /** Resolves when it has been idle for long enough; never where no time was given. */
  ended(isBusy: () => boolean): Promise<string>;
  close(): void;
};

export function createIdleWatch(idleMs: number | undefined, ownSubjects: string): IdleWatch {
  let lastMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  return {
    noteEntry(subject) {
      if (!subject.startsWith(ownSubjects)) lastMs = performance.now();
    },
    ended: (isBusy) =>
      new Promise((resolve) => {
        if (idleMs === undefined) return;
        lastMs = performance.now();
        timer = setInterval(
          () => {
            if (isBusy()) lastMs = performance.now();
            else if (performance.now() - lastMs >= idleMs) resolve(idleEnd);
          },
          Math.min(Math.max(idleMs / 4, 10), 10_000),
        );
      }),
    close: () => clearInterval(timer),
  };
}
