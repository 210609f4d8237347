/** Waits until a person has dealt with a worker that is escalated, or is about to be. */
import { actorKey, type WorkerView } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { get } from './get.ts';

/** A stop that is being judged changes without an escalation, so it is polled: it may become one. */
const pollEveryMs = 250;

/** The worker as soon as it is not escalated (any more), or as it is when `signal` fires. @throws AppError actor.unknown */
export async function untilResolved(host: Host, worker: string, signal: AbortSignal): Promise<WorkerView> {
  for (;;) {
    // Listened for before the read, so that no change falls between.
    const change = nextChange(host, worker, signal);
    try {
      const view = (await get(host, 'worker', worker, {})) as WorkerView;
      if (!isUndecided(view) || signal.aborted) return view;
      await (view.state === 'escalated' ? change.happened : Promise.race([change.happened, pause(pollEveryMs)]));
    } finally {
      change.forget();
    }
  }
}

/** Nobody can say yet whether it may stop. */
export const isUndecided = ({ state }: Pick<WorkerView, 'state'>): boolean =>
  state === 'escalated' || state === 'validating';

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

function nextChange(host: Host, worker: string, signal: AbortSignal): { happened: Promise<void>; forget(): void } {
  let forget = () => {};
  const happened = new Promise<void>((resolve) => {
    const done = () => resolve();
    const unlisten = host.observe({
      touched(actors) {
        if (actors.has(actorKey('worker', worker))) done();
      },
    });
    signal.addEventListener('abort', done);
    forget = () => {
      unlisten();
      signal.removeEventListener('abort', done);
    };
  });
  return { happened, forget };
}
