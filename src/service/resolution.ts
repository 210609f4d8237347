/** Waits for a person's word about a worker that is escalated, or is about to be. */
import type { WorkerView } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import type { Reader } from './read.ts';

/** How often a stop that is being judged is looked at: whether it will be escalated. */
const judgedEveryMs = 250;

export type Resolution = { untilResolved(worker: string, signal: AbortSignal): Promise<WorkerView> };

export function createResolution(host: Host, { get }: Reader): Resolution {
  return {
    async untilResolved(worker, signal) {
      for (;;) {
        // Listened for before it is looked at, so that no change falls between.
        const change = nextChange(host, worker, signal);
        try {
          const view = (await get('worker', worker)) as WorkerView;
          if (!isOpen(view) || signal.aborted) return view;
          await (view.state === 'escalated' ? change.came : Promise.race([change.came, pause(judgedEveryMs)]));
        } finally {
          change.forget();
        }
      }
    },
  };
}

/** Nobody can say yet what becomes of it. */
export const isOpen = ({ state }: Pick<WorkerView, 'state'>): boolean =>
  state === 'escalated' || state === 'validating';

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

function nextChange(host: Host, worker: string, signal: AbortSignal): { came: Promise<void>; forget(): void } {
  let forget = () => {};
  const came = new Promise<void>((resolve) => {
    const done = () => resolve();
    const unlisten = host.onEscalation((entity, id) => {
      if (entity === 'worker' && id === worker) done();
    });
    signal.addEventListener('abort', done);
    forget = () => {
      unlisten();
      signal.removeEventListener('abort', done);
    };
  });
  return { came, forget };
}
