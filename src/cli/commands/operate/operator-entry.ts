/** Publishes an operator's entry: shows the state, asks for confirmation, and reads back what the entry changed. */
import { userInfo } from 'node:os';
import {
  type Escalation,
  personWaitsOfQueue,
  type QueueView,
  type TaskView,
  type WorkerView,
} from '../../../../machines/index.ts';
import { requestText, sentence } from '../../../../machines/replay/standing.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import { acknowledgementFault, throwIfRefused } from '../../../service/refusal.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { clean } from '../../../terminal/text.ts';
import { getActor } from '../../actor-id.ts';
import { type Arguments, type Context, type Flags, flag, option } from '../../command.ts';
import { explainUnknown, withRequester } from '../../connection.ts';
import { clientArgs, readId, timeoutArg, timeoutMsDefault } from '../../option-values.ts';
import { createConfirm, yesArg } from '../../questions.ts';
import { formatAgo } from '../../text/state-text.ts';

export const operatorArgs = {
  by: option('NAME', 'your name (default: your login name)'),
  ...yesArg,
  ...clientArgs,
  ...timeoutArg,
} as const satisfies Arguments;
export const taskFlag = flag('the id is that of a task');

export type View = (WorkerView | TaskView) & { readonly escalation: Escalation | null };
type OperatorEntry = {
  readonly entity: 'worker' | 'task' | 'queue';
  readonly id: string;
  readonly type: string;
  /** The fields, or a function of the current view. @throws AppError entry.refused */
  readonly data: object | ((view: View) => object);
  /** Requires an escalation, or anything that people are notified of; null for no requirement. */
  readonly needs: 'escalation' | 'notice' | null;
  readonly question: string | ((view: View) => string);
  /** Lines for a person that say what changed. `id` is that of the actor. */
  readonly describe: (view: View, id: string, requester: Requester) => Promise<string[]>;
};

/** @throws AppError actor.unknown, entry.refused, input.unauthorized and the errors of a request */
export async function publishOperatorEntry(
  entry: OperatorEntry,
  { flags, io, out, note, asTyped }: Context<Flags<typeof operatorArgs>>,
): Promise<number> {
  const { entity, type } = entry;
  const typed = readId(entity, entry.id);
  const timeoutMs = flags.timeout ?? timeoutMsDefault;
  const confirm = createConfirm(flags.yes, io);
  const by = flags.by ?? loginName(io);
  return withRequester(flags, io, async (requester, fleet) => {
    const view = async (id: string) => (await requester.request('get', `${entity}.${id}`, {}, timeoutMs)) as View;
    // A worker and a task may have the same id.
    const findTaskHint = async () => {
      if (entity !== 'worker' || entry.needs === null) return '';
      const task = await requester.request('get', `task.${typed}`, {}, timeoutMs).catch(() => null);
      return (task as View | null)?.state === 'escalated' ? `; task ${typed} is escalated: add --task` : '';
    };
    const found =
      entity === 'queue'
        ? explainUnknown(view(typed), entity, fleet)
        : getActor<View>(typed, { requester, entity, fleet, note, timeoutMs });
    const before = await found.catch(async (error: AppError) => {
      const hint = error.code === 'actor.unknown' ? await findTaskHint() : '';
      throw hint === '' ? error : new AppError('actor.unknown', `worker ${typed} is unknown${hint}`);
    });
    const id = String((before as Readonly<Record<string, unknown>>)[entity] ?? typed);
    const fault = entry.needs === null ? null : faultOf(before, entry.needs);
    if (fault !== null) throw new AppError('entry.refused', `${fault}${await findTaskHint()}`);
    const data = typeof entry.data === 'function' ? entry.data(before) : entry.data;
    const question = typeof entry.question === 'function' ? entry.question(before) : entry.question;
    if (!(await confirm(`${sentence(describeState(entity, id, before))} ${question}`))) {
      throw new AppError('entry.refused', 'nothing was changed');
    }
    const { seq } = await requester.publish(`own.${entity}.${id}.${type}`, {
      by,
      ...(entry.needs === null ? {} : { seq: (isQueue(before) ? before.unattended : before.escalation)?.seq }),
      ...data,
    });
    const after = await view(id);
    // Another operator may have acted while the question was open.
    throwIfRefused(after, seq);
    if (flags.json) await out.json(after);
    else await out.print(...(await entry.describe(after, id, requester)).map((line) => asTyped(clean(line))));
    return 0;
  });
}

const isQueue = (view: object): view is QueueView => 'pending' in view;

function faultOf(view: View, needs: 'escalation' | 'notice'): string | null {
  const fault = needs === 'notice' ? acknowledgementFault(view) : null;
  if (isQueue(view)) return fault;
  if (view.state === 'escalated' || (needs === 'notice' && fault === null)) return null;
  return `${'task' in view ? `task ${view.task}` : `worker ${view.worker}`} is not escalated: it is ${view.state}`;
}

function describeState(entity: string, id: string, view: View): string {
  const [wait] = isQueue(view) ? personWaitsOfQueue(view) : [];
  if (wait !== undefined) return `${wait.reason} (since ${formatAgo(wait.since)})`;
  const { state, escalation } = view;
  const overdue = 'inputs' in view ? view.inputs.find((input) => input.overdue !== undefined) : undefined;
  if (escalation === null && overdue !== undefined)
    return `${entity} ${id} asked ${formatAgo(overdue.since)}: ${requestText(overdue)}`;
  if (escalation === null) return `${entity} ${id} is ${state}`;
  return `${entity} ${id} was escalated ${formatAgo(escalation.since)}: ${escalation.reason}`;
}

/** Returns the login name. In some containers the user id has no name, so the environment is used. */
export function loginName({ env }: Io): string {
  try {
    return userInfo().username;
  } catch {
    return env.USER || env.LOGNAME || 'operator';
  }
}
