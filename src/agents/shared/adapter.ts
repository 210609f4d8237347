/**
 * Makes a hook reader of an agent's own parts: how a call is read, which entries each event leads to, which event asks
 * to stop, and how the answer is written. An event that the adapter does not know only shows that the agent is alive,
 * since newer versions add events.
 */
import { z } from 'zod';
import { type AttemptFields, describeIssues, type InputAnswer, toIssues } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { AnswerableDecision } from './block-text.ts';
import { type BaseCall, draftRegistration, type EntryDraft, heartbeat } from './entry-drafts.ts';
import type { ReadHook, Translation, WorkerEntry } from './hook-call.ts';
import type { InputFields } from './permission-requests.ts';
import type { PriorWorker } from './prior-worker.ts';
import { toId } from './text.ts';
import type { UnsolicitedCheck } from './unsolicited-checks.ts';

export type DraftEntries<Call> = (call: Call, prior: PriorWorker) => readonly EntryDraft[];
/** By the agent's name of the event. */
export type EventTable<Call> = ReadonlyMap<string, DraftEntries<Call>>;

export type Adapter<Call extends BaseCall> = {
  /** As in `worker.registered`. */
  readonly name: string;
  /** @throws AppError input.bad */
  readonly read: (body: unknown, event: string | undefined) => Call;
  readonly events: EventTable<Call>;
  /** The attempt, if the agent asks to stop with this call. */
  readonly stop: (call: Call, prior: PriorWorker) => AttemptFields | null;
  readonly check?: (call: Call, prior: PriorWorker) => UnsolicitedCheck | null;
  /** Returns what the agent asks of a person with this call, if its hook can be answered. */
  readonly ask?: (call: Call) => InputFields | null;
  /** Returns null if the answer is none to this call, so the agent asks at its own terminal. */
  readonly answerInput?: (answer: InputAnswer, call: Call) => object | null;
  /** An answer that needs no decision. */
  readonly immediateAnswer?: (call: Call, prior: PriorWorker) => object | null;
  /** The call is no worker's activity: no entry, no answer. */
  readonly isIgnored?: (call: Call) => boolean;
  /** The session's end, which must not register it. */
  readonly isEnd: (call: Call) => boolean;
  /** Gets only decisions about a stop or a check of this call. */
  readonly answer: (call: Call, decision: AnswerableDecision, check: UnsolicitedCheck | null) => object | null;
};

export function createHookReader<Call extends BaseCall>(adapter: Adapter<Call>): ReadHook {
  return (body, event) => {
    const call = adapter.read(body, event);
    return {
      worker: call.worker,
      event: call.event,
      translate: (prior) => translate(adapter, call, prior),
      answer: (decision, check = null) => adapter.answer(call, decision, check),
      answerInput: (answer) => adapter.answerInput?.(answer, call) ?? null,
    };
  };
}

function translate<Call extends BaseCall>(adapter: Adapter<Call>, call: Call, prior: PriorWorker): Translation {
  const { worker } = call;
  if (adapter.isIgnored?.(call))
    return { worker, entries: [], stop: null, check: null, ask: null, immediateAnswer: null };
  const drafts = adapter.events.get(call.event)?.(call, prior) ?? [heartbeat];
  const entries = withRegistration(adapter, call, prior, drafts).map(
    ({ worker: other, ...draft }): WorkerEntry => ({ entity: 'worker', id: other ?? worker, ...draft }),
  );
  return {
    worker,
    entries,
    stop: adapter.stop(call, prior),
    check: adapter.check?.(call, prior) ?? null,
    ask: adapter.ask?.(call) ?? null,
    immediateAnswer: adapter.immediateAnswer?.(call, prior) ?? null,
  };
}

/** Not every form of hook reports a session's start, so the session's first call registers it, which is a heartbeat too. */
function withRegistration<Call extends BaseCall>(
  adapter: Adapter<Call>,
  call: Call,
  prior: PriorWorker,
  drafts: readonly EntryDraft[],
): readonly EntryDraft[] {
  const registers = drafts.some(({ type }) => type === 'worker.registered');
  if (prior.registered || registers || adapter.isEnd(call)) return drafts;
  return [draftRegistration(adapter.name, call, prior), ...drafts.filter((draft) => draft !== heartbeat)];
}

/** Optional fields of an unexpected type count as missing: see `readBody`. */
export const text = z.string().optional().catch(undefined);
export const flag = z.boolean().optional().catch(undefined);
export const fields = z.record(z.string(), z.unknown()).optional().catch(undefined);
/** Any name that an agent gives its session. The same name always becomes the same worker id. */
export const sessionName = z.string().min(1).max(1_000).transform(toId);

/**
 * Strict only about whose call it is. A newer version that changes an optional field must not cost the whole call,
 * since agents take an error for "continue".
 * @throws AppError input.bad
 */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown, title: string): z.output<Schema> {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const issues = toIssues(read.error, body);
  throw new AppError('input.bad', `this is not a hook call of ${title}: ${describeIssues(issues)}`, { issues });
}

/** @throws AppError input.bad: neither the JSON nor the URL names the event */
export function readEvent(inBody: string | undefined, inUrl: string | undefined, title: string): string {
  const event = inBody || inUrl;
  if (event) return event;
  const issues = [{ path: 'hook_event_name', message: 'is missing' }];
  throw new AppError(
    'input.bad',
    `this is not a hook call of ${title}: neither its body nor its URL (?event=…) names the event`,
    { issues },
  );
}
