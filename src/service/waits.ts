/** Waits of held requests: until an operator has answered, or has dealt with an escalation. */
import { actorKey, type InputAnswer, type WorkerView } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { within } from '../timer.ts';
import { get } from './get.ts';

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
    const forget = listen(host, worker, signal, () => {
      const found = readAnswer();
      if (found === undefined) return;
      forget();
      resolve(found);
    });
  });
}

/** Calls back at each change of the worker, and when `signal` fires. @returns what ends that */
function listen(host: Host, worker: string, signal: AbortSignal, onChange: () => void): () => void {
  const unlisten = host.observe({
    touched(actors) {
      if (actors.has(actorKey('worker', worker))) onChange();
    },
  });
  signal.addEventListener('abort', onChange);
  return () => {
    unlisten();
    signal.removeEventListener('abort', onChange);
  };
}

// Waits until a person has dealt with a worker that is escalated, or is about to be.

/** A stop that is being judged changes without an escalation, so it is polled: it may become one. */
const pollEveryMs = 250;

/** The worker as soon as it is not escalated (any more), or as it is when `signal` fires. @throws AppError actor.unknown */
export async function untilResolved(host: Host, worker: string, signal: AbortSignal): Promise<WorkerView> {
  for (;;) {
    // Listened for before the read, so that no change falls between.
    let forget = () => {};
    const change = new Promise<void>((resolve) => {
      forget = listen(host, worker, signal, resolve);
    });
    try {
      const view = (await get(host, 'worker', worker, {})) as WorkerView;
      if (!isUndecided(view) || signal.aborted) return view;
      await (view.state === 'escalated' ? change : within(pollEveryMs, change));
    } finally {
      forget();
    }
  }
}

/** Nobody can say yet whether it may stop. */
export const isUndecided = ({ state }: Pick<WorkerView, 'state'>): boolean =>
  state === 'escalated' || state === 'validating';
