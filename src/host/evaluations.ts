/**
 * Evaluations: `iteration.validated`, asked for by a request or published by anyone. Who asked waits here for the
 * HookResult; what a remote hook is asked is an effect, and its answer an entry, as with a stop.
 */
import type { CheckResult, Evaluation, HookResult, Outcome } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { type HostContext, subject } from './context.ts';
import { appendAnswer } from './effects.ts';
import { askRemote, checkResultOf, questionOfIteration } from './remote.ts';
import { createWaiters } from './waiters.ts';

export type Evaluations = {
  readonly size: number;
  /** Appends an `iteration.validated` and gives what the hooks say. @throws AppError entry.refused, log.unavailable */
  evaluate(task: string, fields: object): Promise<HookResult>;
  /** An `iteration.validated` was folded; called before its outcomes. `refused`: why it makes no sense now, or null. */
  met(message: LogMessage, task: string, attempt: string, refused: string | null): void;
  follow(outcome: Extract<Outcome, { kind: 'validated' | 'hookAsked' }>): void;
  /** Asks what is open and ours; `gone`: what was another's, too. */
  serve(gone?: string | null): void;
  /** Owners of what is open, but not ours. */
  owners(): Set<string | null>;
  failAll(error: AppError): void;
  close(): void;
};

type Open = { readonly task: string; readonly evaluation: Evaluation };

export function createEvaluations(
  context: HostContext,
  options: { newId: () => string; entryTimeoutMs: number },
): Evaluations {
  const waiters = createWaiters<HookResult>();
  const asking = new WeakSet<Evaluation['asked']>();
  let closed = false;

  const stillOpen = ({ task, evaluation }: Open) =>
    !closed && openIn(context, task).some((it) => it.evaluation.asked === evaluation.asked);

  const ask = async (open: Open) => {
    const { task, evaluation } = open;
    const { asked, seq } = evaluation;
    if (asking.has(asked)) return;
    asking.add(asked);
    const timeoutMs = Math.max(1, asked.deadlineMs - context.logNow());
    const result = await answerOf(context, open, timeoutMs);
    const tail = `own.task.${task}.check.finished`;
    await appendAnswer(context, tail, result, `${task}:${seq}:hook:${asked.number}:${asked.name}`, () =>
      stillOpen(open),
    );
  };
  const all = (): Open[] => [...context.fleet.evaluating].flatMap((task) => openIn(context, task));
  const isOurs = ({ evaluation: { owner } }: Open) => owner === null || owner === context.replica;

  return {
    get size() {
      return waiters.size;
    },
    evaluate(task, fields) {
      // Asked again it is judged again: the same words about the same iteration count once.
      const messageId = `${task}:~${options.newId()}`;
      const answer = waiters.wait(messageId, options.entryTimeoutMs);
      const tail = `task.${task}.iteration.validated`;
      const headers = { messageId, replica: context.replica };
      context.log.submit(subject(context, tail), JSON.stringify(fields), headers, (stored) => {
        if (stored instanceof AppError) waiters.fail(messageId, stored);
      });
      return answer;
    },
    met(message, task, attempt, refused) {
      const messageId = message.header('Nats-Msg-Id');
      if (!messageId?.startsWith(`${task}:~`)) return;
      if (refused === null) waiters.met(messageId, `${task}:${attempt}`);
      else waiters.fail(messageId, new AppError('entry.refused', refused));
    },
    follow(outcome) {
      if (outcome.kind === 'validated') waiters.settle(`${outcome.task}:${outcome.attempt}`, outcome.result);
      else if (context.atHead()) for (const open of openIn(context, outcome.task)) if (isOurs(open)) void ask(open);
    },
    serve(gone) {
      for (const open of all())
        if (isOurs(open) || (gone !== undefined && open.evaluation.owner === gone)) void ask(open);
    },
    owners: () => new Set(all().flatMap((open) => (isOurs(open) ? [] : [open.evaluation.owner]))),
    failAll: waiters.failAll,
    close() {
      closed = true;
    },
  };
}

const openIn = ({ fleet }: HostContext, task: string): readonly Open[] =>
  (fleet.tasks.get(task)?.snapshot.context.evaluations ?? []).map((evaluation) => ({ task, evaluation }));

function answerOf(context: HostContext, { task, evaluation }: Open, timeoutMs: number): Promise<CheckResult> {
  const { attempt, asked } = evaluation;
  const question = questionOfIteration(context.fleet, task, evaluation);
  return checkResultOf(attempt, asked.name, askRemote(context, asked.name, question, timeoutMs));
}
