/** Waits until an operator has answered what an agent asks. */
import { actorKey, type InputAnswer } from '../../machines/index.ts';
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
  /** Undefined: it is still open. Looked at entry by entry, since only the last answer of a worker is kept. */
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
