/** Remote checks and hooks: the question that goes to `stopgate.<fleet>.check.<name>`, and what its reply means (protocol 8). */
import { z } from 'zod';
import {
  type AttemptFields,
  type CheckResult,
  type Evaluation,
  type Fleet,
  isTooDeep,
  promisesOf,
  tooDeepMessage,
  type WorkerContext,
} from '../../machines/index.ts';
import { type HostContext, subject } from './context.ts';

export type RunResult = Omit<CheckResult, 'attempt' | 'check'>;

/** Either form of reply (protocol 8). */
const replySchema = z.union([
  z.object({ complete: z.boolean(), reason: z.string().optional(), feedback: z.unknown().optional() }),
  z.object({
    action: z.enum(['complete', 'continue', 'escalate']),
    reason: z.string().optional(),
    nextPrompt: z.string().optional(),
    checkpointData: z.unknown().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
]);

/** @throws AppError service.unreachable: nobody serves it, or no reply in time */
export async function askRemote(
  context: HostContext,
  name: string,
  question: object,
  timeoutMs: number,
): Promise<RunResult> {
  const started = performance.now();
  const text = await context.bus.request(subject(context, `check.${name}`), JSON.stringify(question), timeoutMs);
  const tookMs = Math.round(performance.now() - started);
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return { outcome: 'error', reason: `check ${name} replied what is no JSON`, tookMs };
  }
  const parsed = replySchema.safeParse(reply);
  if (!parsed.success) return { outcome: 'error', reason: `check ${name} replied in a form that is not known`, tookMs };
  if ('complete' in parsed.data) {
    const { complete, ...rest } = parsed.data;
    return { outcome: complete ? 'pass' : 'fail', ...defined(rest), tookMs };
  }
  return { outcome: parsed.data.action === 'complete' ? 'pass' : 'fail', ...defined(parsed.data), tookMs };
}

/** A failure to ask is an answer too; and one that the log would refuse would be waited for in vain. */
export async function checkResultOf(attempt: string, check: string, asked: Promise<RunResult>): Promise<CheckResult> {
  const result = await asked.catch((error: Error): RunResult => ({ outcome: 'error', reason: error.message }));
  if (isTooDeep(result)) return { attempt, check, outcome: 'error', reason: `Its answer: ${tooDeepMessage}` };
  return { attempt, check, ...result };
}

const defined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<RunResult>;

/** Of a worker that wants to stop. */
export function questionOf(fleet: Fleet, worker: WorkerContext, attempt: string): object {
  return question(fleet, { worker, task: worker.tasks.at(-1) ?? null, attempt, fields: worker.attempt?.fields ?? {} });
}

/** Of an iteration that is validated; nobody need hold its task. */
export function questionOfIteration(fleet: Fleet, task: string, { attempt, fields, iteration }: Evaluation): object {
  const holder = fleet.tasks.get(task)?.snapshot.context.worker ?? null;
  const worker = holder === null ? null : (fleet.workers.get(holder)?.snapshot.context.worker ?? null);
  return { ...question(fleet, { worker, task, attempt, fields }), iteration: iteration.iteration };
}

type Asked = {
  readonly worker: WorkerContext | null;
  readonly task: string | null;
  readonly attempt: string;
  readonly fields: AttemptFields;
};

function question({ tasks }: Fleet, { worker, task, attempt, fields }: Asked): object {
  const held = task === null ? undefined : tasks.get(task)?.snapshot.context;
  const said = [...promisesOf(fields)].map((type) => ({ type, detected: true, content: `<promise>${type}</promise>` }));
  return {
    ...{ worker: worker?.worker ?? null, task, attempt, stopReason: fields.stopReason ?? null },
    ...{ toolCount: fields.toolCount ?? worker?.toolCount ?? 0, retryCount: worker?.retryCount ?? 0 },
    iteration: held?.iteration?.iteration ?? null,
    phase: held?.checkpoints.findLast((it) => it.phase !== null)?.phase ?? null,
    filesModified: [...new Set([...(worker?.files ?? []), ...(fields.files ?? [])])],
    validationResults: fields.validation ?? [],
    completionPromises: fields.promises ?? said,
    agentOutput: fields.output ?? null,
    ...{ draftContent: fields.draft?.content ?? null, draftType: fields.draft?.type ?? null },
    ...{ cwd: worker?.cwd ?? null, plan: worker?.plan ?? held?.plan ?? [] },
  };
}
