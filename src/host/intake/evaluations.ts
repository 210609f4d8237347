/** Turns requests for an evaluation into `iteration.validated` entries and waits for the result of the task's hooks. */
import { evaluationMessageId, type Fleet, type HookResult, isEvaluationMessageIdOf } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { subject } from '../own-entries.ts';
import { OpenRequest, type Reply } from './open-request.ts';
import type { Waiters } from './waiters.ts';
import type { WriteGate } from './write-gate.ts';

export type Evaluations = {
  /**
   * Appends an `iteration.validated` and resolves to the result of the hooks. Every call is judged, even with equal
   * fields about the same iteration.
   * @throws AppError entry.refused, log.unavailable, log.lost or service.busy
   */
  evaluate(task: string, fields: object): Promise<HookResult>;
  /** Called when its entry is folded. `refusal` is the reason if the fold refused it, otherwise null. */
  onStored(message: LogMessage, task: string, attempt: string, refusal: string | null): void;
  onEvaluated(task: string, attempt: string, result: HookResult): void;
};

export type EvaluationsOptions = {
  readonly fleet: Pick<Fleet, 'name'>;
  readonly replica: string;
  readonly newId: () => string;
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly log: Pick<EventLog, 'submit'>;
  readonly gate: WriteGate;
  /** By message id until the entry is folded, then by task and attempt. */
  readonly waiters: Waiters<HookResult>;
};

export function createEvaluations(options: EvaluationsOptions): Evaluations {
  const { replica, newId, bus, log, gate, waiters } = options;
  const append = async (open: OpenRequest<HookResult>, fields: object) => {
    if (!bus.isConnected()) await gate.reconnected();
    waiters.waitForEntry(open.key, open);
    const target = subject(options, `task.${open.actor}.iteration.validated`);
    log.submit(target, JSON.stringify(fields), { messageId: open.key, replica }, (answer) => {
      if (answer instanceof AppError) open.finish(answer);
    });
  };
  return {
    evaluate: (task, fields) =>
      new Promise((resolve, reject) => {
        const reply: Reply<HookResult> = (answer) => (answer instanceof Error ? reject(answer) : resolve(answer));
        const open = new OpenRequest({ gate, waiters, traces: null }, task, evaluationMessageId(task, newId()), reply);
        append(open, fields).catch((error: Error) => open.finish(error));
      }),
    onStored(message, task, attempt, refusal) {
      const messageId = message.header('Nats-Msg-Id');
      if (messageId === undefined || !isEvaluationMessageIdOf(task, messageId)) return;
      if (refusal === null) waiters.onStored(messageId, evaluationKey(task, attempt));
      else waiters.settle(messageId, new AppError('entry.refused', refusal));
    },
    onEvaluated: (task, attempt, result) => waiters.settle(evaluationKey(task, attempt), result),
  };
}

const evaluationKey = (task: string, attempt: string) => `${task}:${attempt}`;
