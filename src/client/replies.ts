/** Validates replies. The responder may be another version of the service, or not stopgate at all. */
import { z } from 'zod';
import {
  type Decision,
  decisionSchema,
  describeIssues,
  type HookResult,
  hookResultSchema,
  type PersonWait,
  personKinds,
  type QueueView,
  type TaskDetail,
  type TaskView,
  toIssues,
  viewedPresences,
  type WorkerView,
  workerStates,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';

export type Page<View> = { readonly items: View[]; readonly next: string | null };
/** The views returned by `list`, and by `get` except for a task. */
export type Views = { readonly worker: WorkerView; readonly task: TaskView; readonly queue: QueueView };

// The fields that protocol.md §10 guarantees. Other fields pass through unchecked.
const state = z.enum(workerStates);
const refused = z.array(z.looseObject({ at: z.string(), type: z.string(), reason: z.string() }));
export const viewSchemas: Readonly<Record<keyof Views, z.ZodType>> = {
  worker: z.looseObject({
    worker: z.string(),
    state,
    presence: z.enum(viewedPresences),
    tasks: z.array(z.string()),
    policy: z.string(),
    retry: z.looseObject({ count: z.number() }),
    keepAlives: z.number(),
    plan: z.array(z.unknown()),
    refused,
  }),
  task: z.looseObject({
    task: z.string(),
    state,
    worker: z.string().nullable(),
    queue: z.string().nullable(),
    hooks: z.array(z.looseObject({ hook: z.string(), type: z.string(), enabled: z.boolean() })),
    refused,
  }),
  queue: z.looseObject({ queue: z.string(), pending: z.number(), reported: z.number() }),
};
export const personWaitSchema = z.looseObject({
  entity: z.enum(['worker', 'task', 'queue']),
  id: z.string(),
  kind: z.enum(personKinds),
  since: z.string(),
  reason: z.string(),
  note: z.string().nullable(),
});
export const detailSchema = z
  .looseObject({ checkpoint: z.looseObject({ checkpoint: z.string(), at: z.string() }).nullable() })
  .and(viewSchemas.task);

const noTask = z.looseObject({ task: z.null() });

export const readDecision = (reply: unknown): Decision => read(decisionSchema, 'decision', reply);
export const readHookResult = (reply: unknown): HookResult => read(hookResultSchema, 'hook result', reply);
export const readView = <Entity extends keyof Views>(entity: Entity, reply: unknown): Views[Entity] =>
  read(viewSchemas[entity], `view of a ${entity}`, reply) as Views[Entity];
/** Returns null if no task was ready. */
export const readClaim = (reply: unknown): TaskView | null =>
  noTask.safeParse(reply).success ? null : readView('task', reply);
export const readDetail = (reply: unknown): TaskDetail =>
  read(detailSchema, 'view of a task', reply) as unknown as TaskDetail;
export const readPage = <Entity extends keyof Views>(entity: Entity, reply: unknown): Page<Views[Entity]> =>
  read(
    z.object({ items: z.array(viewSchemas[entity]), next: z.string().nullable() }),
    `page of ${entity}s`,
    reply,
  ) as Page<Views[Entity]>;

export const readPersonWaits = (reply: unknown): Page<PersonWait> =>
  read(
    z.object({ items: z.array(personWaitSchema), next: z.string().nullable() }),
    'page of escalations',
    reply,
  ) as unknown as Page<PersonWait>;

/** @throws AppError service.unreachable if the reply does not match: the responder is not a stopgate service */
function read<Value>(schema: z.ZodType<Value>, what: string, reply: unknown): Value {
  const parsed = schema.safeParse(reply);
  if (parsed.success) return parsed.data;
  throw new AppError(
    'service.unreachable',
    `the reply is not a ${what}: ${describeIssues(toIssues(parsed.error, reply))}`,
  );
}
