/**
 * operate: an operator's actions (acknowledge, resolve, answer, retire, pause), stored as own entries (protocol.md §3).
 */
import { z } from 'zod';
import {
  idSchema,
  inputMessageLengthMax,
  operatorNameLengthMax,
  pauseMsMax,
  type QueueView,
  requestLengthMax,
  type TaskView,
  type WorkerView,
} from '../../machines/index.ts';
import { grantForm } from '../../machines/policy/budget.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { parseInput } from './parse-input.ts';
import {
  acknowledgementFault,
  createAnswer,
  type Reply,
  throwIfNotGrantable,
  throwIfRefused,
  throwIfRetired,
} from './refusal.ts';
import { type Entity, findActor } from './views.ts';

const by = z.string().trim().min(1).max(operatorNameLengthMax);
const actor = { entity: z.enum(['worker', 'task']).default('worker'), id: idSchema, by };
/** The entry of the escalation or request that the operator has seen. The action does not apply to a newer one. */
const seq = z.int().nonnegative().optional();
export const operatorActions = {
  acknowledge: z.strictObject({ ...actor, seq, entity: z.enum(['worker', 'task', 'queue']).default('worker') }),
  resolve: z.strictObject({
    ...actor,
    seq,
    verdict: z.enum(['resume', 'stop']),
    prompt: z.string().trim().min(1).max(20_000).optional(),
    grant: grantForm.optional(),
  }),
  /** `request` is optional if exactly one is open. `seq` is the entry of the request that the operator has seen. */
  answer: z.strictObject({
    id: idSchema,
    by,
    verdict: z.enum(['allow', 'deny']),
    request: z.string().min(1).max(requestLengthMax).optional(),
    seq: z.int().nonnegative().optional(),
    message: z.string().trim().min(1).max(inputMessageLengthMax).optional(),
  }),
  retire: z.strictObject({ id: idSchema, by }),
  /** Without `forMs` the pause lasts until the session ends. */
  pause: z.strictObject({ id: idSchema, by, forMs: z.int().positive().max(pauseMsMax).optional() }),
  unpause: z.strictObject({ id: idSchema, by }),
} as const;
export type OperatorAction = keyof typeof operatorActions;

const types = {
  acknowledge: 'escalation.acknowledged',
  resolve: 'escalation.resolved',
  answer: 'input.answered',
  retire: 'worker.retired',
  pause: 'worker.paused',
  unpause: 'worker.unpaused',
} as const satisfies Record<OperatorAction, string>;

/** The body of any action; the fields of an answer are optional. */
type ActionBody = z.infer<(typeof operatorActions)['acknowledge']> &
  Reply &
  Pick<z.infer<(typeof operatorActions)['resolve']>, 'grant'>;
type Operated = { seq: number; view: WorkerView | TaskView | QueueView };
export type Operate = (action: OperatorAction, body: unknown) => Promise<Operated>;

export function createOperate(host: Host, log: EventLog): Operate {
  const view = async (entity: Entity, id: string) => {
    await host.caughtUp();
    return findActor(host, entity, id);
  };
  return async (action, body) => {
    const given = parseInput(operatorActions[action], body ?? {});
    const { id, entity = 'worker', seq: readSeq, ...data } = given as ActionBody;
    const before = await view(entity, id);
    const fault = action === 'acknowledge' ? acknowledgementFault(before) : null;
    if (fault !== null) throw new AppError('entry.refused', fault);
    const { state } = before as WorkerView | TaskView;
    if (action === 'resolve' && state !== 'escalated')
      throw new AppError('entry.refused', `${entity} ${id} is not escalated, it is ${state}`);
    if (data.grant !== undefined) throwIfNotGrantable(before as WorkerView | TaskView, data.grant);
    if (action === 'retire') throwIfRetired(id, before as WorkerView);
    const fields =
      action === 'answer'
        ? { by: data.by, ...createAnswer(before as WorkerView, { ...data, seq: readSeq }) }
        : { ...data, ...seqOf(action, before, readSeq) };
    const subject = `stopgate.${host.fleet.name}.own.${entity}.${id}.${types[action]}`;
    const { seq } = await log.append(subject, JSON.stringify(fields), {});
    const after = await view(entity, id);
    // Refused if somebody else acted first.
    throwIfRefused(after as WorkerView, seq);
    return { seq, view: after };
  };
}

/** Names the escalation, so that the action does not apply to one that begins in the meantime. */
function seqOf(
  action: OperatorAction,
  view: WorkerView | TaskView | QueueView,
  readSeq: number | undefined,
): { readonly seq?: number } {
  if (action !== 'acknowledge' && action !== 'resolve') return {};
  const open = 'pending' in view ? view.unattended : view.escalation;
  const seq = readSeq ?? open?.seq;
  return seq === undefined ? {} : { seq };
}
