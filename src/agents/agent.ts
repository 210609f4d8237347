/**
 * Everything that stopgate knows about a coding agent. To add one whose hooks look like Claude Code's, add a row to
 * table/rows.ts. For any other, create a folder that exports the result of `defineAgent` and add a line to index.ts.
 * Reading, translating and answering a hook call is pure: no clock, no I/O, and no memory between calls. The caller
 * looks the worker up and passes it in.
 */
import { z } from 'zod';
import { type AttemptFields, describeIssues, type InputAnswer, toIssues } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { HookAgent } from '../hook-command/agent.ts';
import type { Doctor } from './doctor/doctor.ts';
import type { Setup } from './setup/setup.ts';
import type { AnswerableDecision } from './shared/block-text.ts';
import {
  type BaseCall,
  type DraftEntries,
  draftMode,
  draftMove,
  draftRegistration,
  type EntryDraft,
  heartbeat,
} from './shared/entry-drafts.ts';
import { isAbsoluteFolder, keepLinks, type RealPath } from './shared/file-paths.ts';
import type { InputFields } from './shared/permission-requests.ts';
import { type PersonCommand, readPersonCommand } from './shared/person-command.ts';
import type { PriorWorker } from './shared/prior-worker.ts';
import { toId } from './shared/text.ts';
import type { UnsolicitedCheck } from './shared/unsolicited-checks.ts';

/** What `init`, the doctor and the hook command need to know about an agent. */
type Profile = {
  /**
   * Names the agent in `/hooks/<name>`, `stopgate hook <name>`, the `agent` of its workers, and its folder or row.
   */
  readonly name: string;
  /** The name that people see. */
  readonly title: string;
  /**
   * Must be the export of the agent's `hook-command.ts` or, for a row, an entry of `tableCommands`
   * (table/hook-command.ts): the hook command loads only that file.
   */
  readonly hookCommand: HookAgent;
  /** Loads the parts for `stopgate init` and `stopgate doctor`. Lazy, because the service needs neither. */
  readonly settings: () => Promise<{ readonly setup: Setup; readonly doctor?: Doctor }>;
  /** What the doctor checks: settings and a turn of the real program, only settings, or nothing. */
  readonly doctor: 'dry turn' | 'settings' | null;
  /** The words of the command that resumes a session with a prompt. Null if the agent has no such command. */
  readonly resume: ((session: string, prompt: string) => readonly string[]) | null;
  /** True if a running session receives a resolution's prompt without a person's help. Default: false. */
  readonly promptsResolution?: boolean;
};

export type Agent = Profile & { readonly readHook: ReadHook };

/**
 * @param event from the URL, for agents that omit the event name from their JSON
 * @throws AppError input.bad if `body` is not a hook call of this agent
 */
export type ReadHook = (body: unknown, event?: string) => HookCall;

export type HookCall = {
  readonly worker: string;
  /** The worker itself or, for a sub-agent, its parent. */
  readonly session: string;
  /** The agent's own name of the event. */
  readonly event: string;
  /** The program that makes the call, as the `agent` of its workers. */
  readonly program: string;
  /** The folder in which the session works now. Null if the call does not name it. */
  readonly cwd: string | null;
  /** Step lists that the worker shares with other workers (shared-plans.ts). */
  readonly planLists: readonly string[];
  /** Fields of an unexpected type. They are treated as missing. */
  readonly unread: readonly string[];
  /** @param realPath resolves symbolic links in folder and file names. Default: no resolution. */
  translate(prior: PriorWorker, realPath?: RealPath): Translation;
  /**
   * The answer to the agent. Null is an empty answer, which lets the agent continue or stop.
   * @param check the check that led to the decision, or null for a stop. With a check, pass only a decision that
   * `isReportable` accepts (unsolicited-checks.ts).
   */
  answer(decision: AnswerableDecision, check?: UnsolicitedCheck | null): object | null;
  /** The answer to the agent's own request. Null if its hook cannot express this answer. */
  answerInput(answer: InputAnswer): object | null;
  /** The answer to a command that a person typed. `text` is shown to the person. */
  answerCommand(text: string): object;
};

export type Translation = {
  readonly worker: string;
  /** Stored in this order, before the stop is decided. */
  readonly entries: readonly WorkerEntry[];
  /** Set if the agent wants to stop and waits for the decision. Has an `attempt` only if the agent names one. */
  readonly stop: AttemptFields | null;
  /** Set if a check may have something to say although the agent did not ask to stop. */
  readonly check: UnsolicitedCheck | null;
  /** Set if the agent asks a person something and its hook can carry the answer. Stored after the entries. */
  readonly ask: InputFields | null;
  /** Set if the answer needs no decision. Nothing is checked then. */
  readonly immediateAnswer: object | null;
  /** Set if a person addressed stopgate in a prompt, such as `/stopgate off`. */
  readonly command: PersonCommand | null;
  /** All prompts that the agent has scheduled for itself. Null if this call does not list them. */
  readonly scheduled: readonly string[] | null;
  /** The prompt that this call schedules, in addition to those listed before. Null if none. */
  readonly schedules: string | null;
  /** Our names for the parts of the call that could not be read and were left out. */
  readonly unread: readonly string[];
};

export type WorkerEntry = {
  readonly entity: 'worker';
  readonly id: string;
  /** `<noun>.<verb>` */
  readonly type: string;
  readonly data: object;
  /** Entries with the same id within 2 minutes are stored once. */
  readonly messageId?: string;
};

/** How one agent's hook calls are read, translated and answered. */
type Adapter<Body, Call extends BaseCall> = {
  /** Strict only about the caller's identity: see `readBody`. */
  readonly body: z.ZodType<Body>;
  /** Converts the raw body before it is validated. */
  readonly normalize?: (body: unknown) => unknown;
  /** The event name from the call or its URL. Default: the field `hook_event_name`, otherwise the URL's. */
  readonly eventOf?: (body: Body, inUrl: string | undefined) => string | undefined;
  /** The worker that made the call. @throws AppError input.bad */
  readonly callerOf: (body: Body, event: string) => Omit<BaseCall, 'event'>;
  /** Keyed by the agent's event name. Any other event, such as one of a newer version, only counts as a heartbeat. */
  readonly events: Readonly<Record<string, DraftEntries<Call>>>;
  /** The entries of any other event. Default: a heartbeat. */
  readonly otherEvents?: DraftEntries<Call>;
  /** Returns the attempt if this call asks to stop. */
  readonly stop: (call: Call, prior: PriorWorker) => AttemptFields | null;
  readonly check?: (call: Call, prior: PriorWorker) => UnsolicitedCheck | null;
  /** Returns the request to a person that this call makes, if its hook can carry the answer. */
  readonly ask?: (call: Call) => InputFields | null;
  /** Returns null if this call cannot carry the answer. The agent then asks at its own terminal. */
  readonly answerInput?: (answer: InputAnswer, call: Call) => object | null;
  /** An answer that needs no decision. */
  readonly immediateAnswer?: (call: Call, prior: PriorWorker) => object | null;
  /** Returns the prompt that a person submitted with this call. */
  readonly personPrompt?: (call: Call, prior: PriorWorker) => string | null;
  /** Shows `text` to the person and, if the agent's hook can do that, keeps the prompt from the model. */
  readonly answerCommand?: (text: string, call: Call) => object;
  /** Set if the hook cannot keep a prompt from the model, so that a command starts a turn. */
  readonly passesCommands?: true;
  /** The prompts that the agent has scheduled for itself. Null if this call does not list them. */
  readonly scheduled?: (call: Call) => readonly string[] | null;
  /** The prompt that this call schedules, or null. */
  readonly schedules?: (call: Call) => string | null;
  /** The step lists that the caller shares with other workers. */
  readonly planLists?: (call: Call) => readonly string[];
  /** True if the call is not the activity of a worker. It leads to no entry and an empty answer. */
  readonly isIgnored?: (call: Call) => boolean;
  /** The event that ends a session. It must not register the worker. */
  readonly end: string;
  /** Called only for a stop or a check of this call. */
  readonly answer: (call: Call, decision: AnswerableDecision, check: UnsolicitedCheck | null) => object | null;
};

/** An agent's own JSON, as parsed by its schema, and the caller's identity. */
export type CallOf<Schema extends z.ZodType> = z.output<Schema> & BaseCall;

export function defineAgent<Body>({
  name,
  title,
  hookCommand,
  settings,
  doctor,
  resume,
  promptsResolution = false,
  ...adapter
}: Profile & Adapter<Body, Body & BaseCall>): Agent {
  const readHook: ReadHook = (rawBody, eventInUrl) => {
    const normalized = adapter.normalize?.(rawBody) ?? rawBody;
    const body = readBody(adapter.body, normalized, title);
    const event = adapter.eventOf === undefined ? hookEventName(body) || eventInUrl : adapter.eventOf(body, eventInUrl);
    if (!event) throw withoutEvent(title);
    const call = { ...body, ...adapter.callerOf(body, event), event };
    return {
      worker: call.worker,
      program: name,
      cwd: call.cwd || null,
      session: call.parent ?? call.worker,
      event,
      unread: unreadIn(normalized, body),
      planLists: adapter.planLists?.(call) ?? [],
      translate: (prior, realPath = keepLinks) => translate(name, adapter, { ...call, realPath }, prior),
      answer: (decision, check = null) => adapter.answer(call, decision, check),
      answerInput: (answer) => adapter.answerInput?.(answer, call) ?? null,
      answerCommand: (text) => adapter.answerCommand?.(text, call) ?? { note: text },
    };
  };
  return { name, title, hookCommand, settings, doctor, resume, promptsResolution, readHook };
}

function translate<Body, Call extends BaseCall>(
  name: string,
  adapter: Adapter<Body, Call>,
  call: Call,
  recorded: PriorWorker,
): Translation {
  const { worker, event } = call;
  if (adapter.isIgnored?.(call)) return { ...emptyTranslation, worker };
  const move = draftMove(call, recorded);
  const prior = move === null || call.cwd === undefined ? recorded : { ...recorded, cwd: call.cwd };
  const command = readPersonCommand(adapter.personPrompt?.(call, prior) ?? undefined);
  // A command that the hook keeps from the model does not count as activity of the agent.
  const isWithheld = command !== null && adapter.passesCommands !== true;
  const draft = Object.hasOwn(adapter.events, event) ? adapter.events[event] : adapter.otherEvents;
  const drafts = isWithheld ? [heartbeat] : (draft?.(call, prior, name) ?? [heartbeat]);
  // Some hook forms do not report session starts, so the first call of any kind registers. That replaces the heartbeat.
  const registers = drafts.some((entry) => entry.type === 'worker.registered' && (entry.worker ?? worker) === worker);
  const isKnown = prior.registered || event === adapter.end || registers;
  const all: readonly EntryDraft[] = isKnown
    ? [...(move === null || registers ? [] : [move]), ...(registers ? drafts : draftMode(call, prior, drafts))]
    : [draftRegistration(call, prior, name), ...drafts.filter((entry) => entry !== heartbeat)];
  return {
    worker,
    entries: all.map(
      ({ worker: id = worker, unread: _unread, ...entry }): WorkerEntry => ({ entity: 'worker', id, ...entry }),
    ),
    stop: adapter.stop(call, prior),
    check: adapter.check?.(call, prior) ?? null,
    ask: adapter.ask?.(call) ?? null,
    immediateAnswer: isWithheld ? null : (adapter.immediateAnswer?.(call, prior) ?? null),
    command,
    scheduled: adapter.scheduled?.(call) ?? null,
    schedules: adapter.schedules?.(call) ?? null,
    unread: [...all.flatMap(({ unread = [] }) => unread), ...(namesRelativeFolder(call, recorded) ? ['cwd'] : [])],
  };
}

const emptyTranslation: Omit<Translation, 'worker'> = {
  entries: [],
  stop: null,
  check: null,
  ask: null,
  immediateAnswer: null,
  command: null,
  scheduled: null,
  schedules: null,
  unread: [],
};

/** True if a registered worker names a relative folder. Its known folder is kept. */
const namesRelativeFolder = ({ cwd }: BaseCall, { registered }: PriorWorker): boolean =>
  registered && cwd !== undefined && cwd !== '' && !isAbsoluteFolder(cwd);

/** Optional fields. A value of an unexpected type is treated as missing: see `readBody`. */
export const text = z.string().optional().catch(undefined);
export const flag = z.boolean().optional().catch(undefined);
export const fields = z.record(z.string(), z.unknown()).optional().catch(undefined);
/** Any name that an agent gives its session. Equal names map to equal worker ids. */
export const sessionName = z.string().min(1).max(1_000).transform(toId);

/**
 * Strict only about the caller's identity. Agents treat an error as "continue", so a newer version that changes an
 * optional field must not fail the whole call.
 * @throws AppError input.bad
 */
export function readBody<Value>(schema: z.ZodType<Value>, body: unknown, title: string): Value {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const issues = toIssues(read.error, body);
  throw new AppError('input.bad', `this is not a hook call of ${title}: ${describeIssues(issues)}`, { issues });
}

/** Names of the fields that `catch` dropped. */
function unreadIn(body: unknown, read: unknown): readonly string[] {
  const fields = read as Readonly<Record<string, unknown>>;
  return Object.entries(body as object).flatMap(([key, value]) =>
    value !== null && value !== undefined && Object.hasOwn(fields, key) && fields[key] === undefined ? [key] : [],
  );
}

const hookEventName = (body: unknown): string | undefined =>
  (body as { readonly hook_event_name?: string | undefined }).hook_event_name;

const withoutEvent = (title: string): AppError =>
  new AppError(
    'input.bad',
    `this is not a hook call of ${title}: neither its body nor its URL (?event=…) names the event`,
    { issues: [{ path: 'hook_event_name', message: 'is missing' }] },
  );
