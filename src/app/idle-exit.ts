/** Ends a service that was started on demand once it has been idle for a while. */
export const idleEnd = 'idle';

export type IdleWatch = {
  /** An entry or a request came. Those under `ownSubjects` are the service's own, and do not count. */
  noteEntry(subject: string): void;
  /** Resolves after the idle time; never if there is none. */
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
