/** Waits until an operator has answered an agent's request, or has resolved an escalation. */
import { actorKey, type InputAnswer, type WorkerView } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { within } from '../timer.ts';
import { get } from './get.ts';

/**
 * Resolves to the answer once it is folded. Null if the question ends without one (it was withdrawn or never asked), or
 * if `signal` aborts. `seq` is the question's entry: before that is folded, the question would seem not to exist.
 */
export async function untilAnswered(
  host: Host,
  worker: string,
  { request, seq }: { readonly request: string; readonly seq: number },
  signal: AbortSignal,
): Promise<InputAnswer | null> {
  await host.foldedTo(seq);
  /**
   * Returns undefined while the question is open. Called after every entry, since only a worker's last answer is kept.
   */
  const readAnswer = (): InputAnswer | null | undefined => {
    const { inputs = [], lastAnswer = null } = host.fleet.workers.read(worker)?.snapshot.context.worker ?? {};
    if (lastAnswer?.request === request) return lastAnswer;
    return signal.aborted || !inputs.some((input) => input.request === request) ? null : undefined;
  };
  const now = readAnswer();
  if (now !== undefined) return now;
  return new Promise((resolve) => {
    const stopListening = listen(host, worker, signal, () => {
      const found = readAnswer();
      if (found === undefined) return;
      stopListening();
      resolve(found);
    });
  });
}

/** Calls back at each change of the worker, and when `signal` aborts. @returns a function that stops it */
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

/** A stop that is being judged may become an escalation. No observer is called when it ends, so it is polled. */
const pollEveryMs = 250;

/** Resolves to the worker once it is not escalated, or when `signal` aborts. @throws AppError actor.unknown */
export async function untilResolved(host: Host, worker: string, signal: AbortSignal): Promise<WorkerView> {
  for (;;) {
    // Start listening before the read, so that no change is missed.
    let stopListening = () => {};
    const change = new Promise<void>((resolve) => {
      stopListening = listen(host, worker, signal, resolve);
    });
    try {
      const view = (await get(host, 'worker', worker, {})) as WorkerView;
      if (!isUndecided(view) || signal.aborted) return view;
      await (view.state === 'escalated' ? change : within(pollEveryMs, change));
    } finally {
      stopListening();
    }
  }
}

/** Tells whether it is not yet known if the worker may stop. */
export const isUndecided = ({ state }: Pick<WorkerView, 'state'>): boolean =>
  state === 'escalated' || state === 'validating';
