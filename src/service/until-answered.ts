/** Waits until an operator has answered what an agent asks. */
import type { InputAnswer } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';

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
  for (;;) {
    const { inputs = [], lastAnswer = null } = host.fleet.workers.get(worker)?.snapshot.context.worker ?? {};
    if (lastAnswer?.request === request) return lastAnswer;
    if (signal.aborted || !inputs.some((input) => input.request === request)) return null;
    // Nothing is folded between the look and this.
    await nextChange(host, worker, signal);
  }
}

function nextChange(host: Host, worker: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      unlisten();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const unlisten = host.onInputs((id) => {
      if (id === worker) done();
    });
    signal.addEventListener('abort', done);
  });
}
