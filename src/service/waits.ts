/** Waits of held requests: until an operator has answered, or has dealt with an escalation. */
import { actorKey, type InputAnswer, type WorkerView } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { get } from './views.ts';

// Waits until an operator has answered what an agent asks.

/**
 * The answer as soon as it is folded. Null: the question is over without one (it was withdrawn, or was never asked), or
 * `signal` fired. `seq`: where the question stands in the log; what is not folded yet would look like no question.
 */
export async function untilAnswered(
  host: Host,
  worker: string,
  { request, seq }: { readonly request: string; readonly seq: number },
  signal: AbortSignal,
): Promise<InputAnswer | null> {
  await host.foldedTo(seq);
  /**
   * Returns undefined while it is still open. It is read entry by entry, since only the last answer of a worker is
   * kept.
   */
  const readAnswer = (): InputAnswer | null | undefined => {
    const { inputs = [], lastAnswer = null } = host.fleet.workers.read(worker)?.snapshot.context.worker ?? {};
    if (lastAnswer?.request === request) return lastAnswer;
    return signal.aborted || !inputs.some((input) => input.request === request) ? null : undefined;
  };
  const now = readAnswer();
  if (now !== undefined) return now;
  return new Promise((resolve) => {
    const check = () => {
      const found = readAnswer();
      if (found === undefined) return;
      unlisten();
      signal.removeEventListener('abort', check);
      resolve(found);
    };
    const unlisten = host.observe({
      touched(actors) {
        if (actors.has(actorKey('worker', worker))) check();
      },
    });
    signal.addEventListener('abort', check);
  });
}

// Waits until a person has dealt with a worker that is escalated, or is about to be.

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
