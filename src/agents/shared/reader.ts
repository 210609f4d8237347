/**
 * Makes an adapter of an agent's own parts: how a call is read, a table of what each event says, which event asks for
 * the stop, and how the answer is put. Events that the table does not have say only that the agent lives, since newer
 * versions add events.
 */
import { z } from 'zod';
import { type AttemptFields, describeIssues, toIssues } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { NewEntry } from '../../service/service.ts';
import type { Answerable, KnownWorker, ReadHook, Translation } from './adapter.ts';
import { type Caller, heartbeat, registration, type Said } from './entry-drafts.ts';
import { toId } from './safe-id.ts';
import type { Look } from './unsolicited-checks.ts';

export type Row<Call> = (call: Call, known: KnownWorker) => readonly Said[];
export type Table<Call> = ReadonlyMap<string, Row<Call>>;

export type Agent<Call extends Caller> = {
  /** As in `worker.registered`. */
  readonly name: string;
  /** @throws AppError input.bad */
  readonly read: (body: unknown, event: string | undefined) => Call;
  readonly rows: Table<Call>;
  /** The attempt, where the call is the agent's wish to stop. */
  readonly stop: (call: Call, known: KnownWorker) => AttemptFields | null;
  readonly look?: (call: Call, known: KnownWorker) => Look | null;
  /** What it is told without a question. */
  readonly tell?: (call: Call, known: KnownWorker) => object | null;
  /** A call that is nobody's work: nothing is said. */
  readonly isNobodys?: (call: Call) => boolean;
  /** The session's end must not begin it. */
  readonly isEnd: (call: Call) => boolean;
  /** Only decisions about a stop or a look of this call come here. */
  readonly answer: (call: Call, decision: Answerable, look: Look | null) => object | null;
};

const alive = () => [heartbeat];

export function createReader<Call extends Caller>(agent: Agent<Call>): ReadHook {
  return (body, event) => {
    const call = agent.read(body, event);
    return {
      worker: call.worker,
      event: call.event,
      translate: (known) => translate(agent, call, known),
      answer: (decision, look = null) => agent.answer(call, decision, look),
    };
  };
}

function translate<Call extends Caller>(agent: Agent<Call>, call: Call, known: KnownWorker): Translation {
  const { worker } = call;
  if (agent.isNobodys?.(call)) return { worker, entries: [], stop: null, look: null, tell: null };
  const said = (agent.rows.get(call.event) ?? alive)(call, known);
  const entries = withRegistration(agent, call, known, said).map(
    ({ worker: other, ...one }): NewEntry => ({ entity: 'worker', id: other ?? worker, ...one }),
  );
  return {
    worker,
    entries,
    stop: agent.stop(call, known),
    look: agent.look?.(call, known) ?? null,
    tell: agent.tell?.(call, known) ?? null,
  };
}

/** Not every agent tells of a session's start over every way, so its first call registers it; a sign of life too. */
function withRegistration<Call extends Caller>(
  agent: Agent<Call>,
  call: Call,
  known: KnownWorker,
  said: readonly Said[],
): readonly Said[] {
  const begun = said.some(({ type }) => type === 'worker.registered');
  if (known.registered || begun || agent.isEnd(call)) return said;
  return [registration(agent.name, call, known), ...said.filter((one) => one !== heartbeat)];
}

/** Optional fields of another shape than the one that we know are as good as missing: see `readBody`. */
export const text = z.string().optional().catch(undefined);
export const flag = z.boolean().optional().catch(undefined);
export const fields = z.record(z.string(), z.unknown()).optional().catch(undefined);
/** Any name that an agent gives its session; as a worker's id it becomes a safe one, always the same. */
export const sessionName = z.string().min(1).max(1_000).transform(toId);

/**
 * Lenient in all but whose call it is: a newer version that changes a field we can do without must not cost the call,
 * since agents take an error for "go on".
 * @throws AppError input.bad
 */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown, title: string): z.output<Schema> {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const issues = toIssues(read.error);
  throw new AppError('input.bad', `this is no hook call of ${title}: ${describeIssues(issues)}`, { issues });
}

/** @throws AppError input.bad: neither the JSON nor whoever posts it names the event */
export function eventOf(inBody: string | undefined, given: string | undefined, title: string): string {
  const event = inBody || given;
  if (event) return event;
  const issues = [{ path: 'hook_event_name', message: 'is missing' }];
  throw new AppError(
    'input.bad',
    `this is no hook call of ${title}: it names no event, and neither does the URL (?event=…)`,
    { issues },
  );
}
