/**
 * Everything that stopgate knows about a coding agent. To add an agent, add a folder that exports one of these
 * (`defineAgent`), and a line in index.ts. How a hook call is read, translated into entries and answered is pure: no clock,
 * no I/O, and nothing is remembered between calls. The edge looks the worker up and hands it in.
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
import { asNamed, isAbsoluteFolder, type RealPath } from './shared/file-places.ts';
import type { InputFields } from './shared/permission-requests.ts';
import { type PersonCommand, readPersonCommand } from './shared/person-command.ts';
import type { PriorWorker } from './shared/prior-worker.ts';
import { toId } from './shared/text.ts';
import type { UnsolicitedCheck } from './shared/unsolicited-checks.ts';

/** What `init`, the doctor and the hook command know of an agent. */
type Facts = {
  /** As in `/hooks/<name>`, `stopgate hook <name>`, and the `agent` of its workers. Also the name of its folder. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /**
   * The agent as the hook command knows it. It must be the export of its `hook-command.ts`, which that program loads by
   * itself.
   */
  readonly hookCommand: HookAgent;
  /** Loads how `stopgate init` connects it, and what the doctor checks, on demand: the service needs neither. */
  readonly settings: () => Promise<{ readonly setup: Setup; readonly doctor?: Doctor }>;
  /** What the doctor checks: also a turn of its program, its settings alone, or nothing. */
  readonly doctor: 'dry turn' | 'settings' | null;
  /** The arguments of the command that resumes a session with a prompt. Null: it has no such command. */
  readonly resume: ((session: string, prompt: string) => readonly string[]) | null;
  /** Does a running session get the prompt of a resolution without a person's help? Default: no. */
  readonly promptsResolution?: boolean;
};

export type Agent = Facts & { readonly readHook: ReadHook };

/**
 * `event`: its name, for an agent that leaves it out of its JSON.
 * @throws AppError input.bad: not a hook call of this agent
 */
export type ReadHook = (body: unknown, event?: string) => HookCall;

export type HookCall = {
  readonly worker: string;
  /** The worker itself, or the one whose sub-agent it is. */
  readonly session: string;
  /** The agent's own name of the event. */
  readonly event: string;
  /** The lists of steps that the worker shares with others: see shared-plans.ts. */
  readonly planLists: readonly string[];
  /** Fields of the call that have another type than we know. They count as missing. */
  readonly unread: readonly string[];
  /** `realPath` resolves the links in names of folders and files. Default: names are taken as they are. */
  translate(prior: PriorWorker, realPath?: RealPath): Translation;
  /**
   * The answer to the agent. Null: an empty answer, which lets it continue (or stop). `check`: what the decision was
   * made for, if not for a stop. Then only a decision that `isNews` may be passed (see unsolicited-checks.ts).
   */
  answer(decision: AnswerableDecision, check?: UnsolicitedCheck | null): object | null;
  /** The answer to the agent that asked. Null: its hook cannot be answered, or not so. */
  answerInput(answer: InputAnswer): object | null;
  /** The answer to a person's command, with this text for the person. */
  answerCommand(text: string): object;
};

export type Translation = {
  readonly worker: string;
  /** To be stored in this order, before the stop is decided. */
  readonly entries: readonly WorkerEntry[];
  /** Not null: the agent wants to stop and waits for the decision. It names an `attempt` only if the agent has one. */
  readonly stop: AttemptFields | null;
  /** Not null: the agent did not ask to stop, and yet a check may have an answer for it. */
  readonly check: UnsolicitedCheck | null;
  /** Not null: the agent asks a person, and its hook can be answered. Stored after the entries. */
  readonly ask: InputFields | null;
  /** Not null: the answer to the call. Then nothing is checked. */
  readonly immediateAnswer: object | null;
  /** Not null: a person has told stopgate something by a prompt, and gets the answer. */
  readonly command: PersonCommand | null;
  /** The prompts that the agent has scheduled for itself, if this call lists them. */
  readonly scheduled: readonly string[] | null;
  /** The prompt that the agent has scheduled by this call, beside those that it listed before. */
  readonly schedules: string | null;
  /** What of the call was left out since it could not be read: names of ours. */
  readonly unread: readonly string[];
};

export type WorkerEntry = {
  readonly entity: 'worker';
  readonly id: string;
  /** `<noun>.<verb>` */
  readonly type: string;
  readonly data: object;
  /** An entry with the same id is stored once within 2 minutes. */
  readonly messageId?: string;
};

/** How an agent's calls are read, which entries each event leads to, which event asks to stop, and how it is answered. */
type Adapter<Body, Call extends BaseCall> = {
  /** Strict only about whose call it is: see `text` below. */
  readonly body: z.ZodType<Body>;
  /** What is read in place of the body as it came. */
  readonly normalize?: (body: unknown) => unknown;
  /** The name of the event, if the call or its URL (`inUrl`) has it. Default: the field `hook_event_name`, else the URL's. */
  readonly eventOf?: (body: Body, inUrl: string | undefined) => string | undefined;
  /** The worker that the call is about. @throws AppError input.bad */
  readonly callerOf: (body: Body, event: string) => Omit<BaseCall, 'event'>;
  /**
   * By the agent's name of the event. An event that is not here only shows that the agent is alive, since newer versions
   * add events.
   */
  readonly events: Readonly<Record<string, DraftEntries<Call>>>;
  /** The attempt, if the agent asks to stop with this call. */
  readonly stop: (call: Call, prior: PriorWorker) => AttemptFields | null;
  readonly check?: (call: Call, prior: PriorWorker) => UnsolicitedCheck | null;
  /** Returns what the agent asks of a person with this call, if its hook can be answered. */
  readonly ask?: (call: Call) => InputFields | null;
  /** Returns null if the answer is none to this call, so the agent asks at its own terminal. */
  readonly answerInput?: (answer: InputAnswer, call: Call) => object | null;
  /** An answer that needs no decision. */
  readonly immediateAnswer?: (call: Call, prior: PriorWorker) => object | null;
  /** Returns the prompt if a person of the session made one by this call. */
  readonly personPrompt?: (call: Call, prior: PriorWorker) => string | null;
  /** The answer that shows a person this text, and keeps their prompt from the model if the agent's hook can do that. */
  readonly answerCommand?: (text: string, call: Call) => object;
  /** Its hook cannot keep a prompt from the model, which therefore begins a turn with it. */
  readonly passesCommands?: true;
  /** The prompts that the agent has scheduled for itself. Null: this call does not list them. */
  readonly scheduled?: (call: Call) => readonly string[] | null;
  /** The prompt that it has scheduled by this call. Null: none. */
  readonly schedules?: (call: Call) => string | null;
  /** The lists of steps that the worker of this call shares with others. */
  readonly planLists?: (call: Call) => readonly string[];
  /** The call is no worker's activity: no entry, no answer. */
  readonly isIgnored?: (call: Call) => boolean;
  /** The event of the session's end, which must not register it. */
  readonly end: string;
  /** Gets only decisions about a stop or a check of this call. */
  readonly answer: (call: Call, decision: AnswerableDecision, check: UnsolicitedCheck | null) => object | null;
};

/** `Body`: an agent's own JSON, as far as it is read. */
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
}: Facts & Adapter<Body, Body & BaseCall>): Agent {
  const readHook: ReadHook = (given, inUrl) => {
    const normal = adapter.normalize?.(given) ?? given;
    const body = readBody(adapter.body, normal, title);
    const event = adapter.eventOf === undefined ? hookEventName(body) || inUrl : adapter.eventOf(body, inUrl);
    if (!event) throw withoutEvent(title);
    const call = { ...body, ...adapter.callerOf(body, event), event };
    return {
      worker: call.worker,
      session: call.parent ?? call.worker,
      event,
      unread: unreadIn(normal, body),
      planLists: adapter.planLists?.(call) ?? [],
      translate: (prior, realPath = asNamed) => translate(name, adapter, { ...call, realPath }, prior),
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
  given: PriorWorker,
): Translation {
  const { worker, event } = call;
  if (adapter.isIgnored?.(call)) return { ...nothing, worker };
  const move = draftMove(call, given);
  const prior = move === null || call.cwd === undefined ? given : { ...given, cwd: call.cwd };
  const command = readPersonCommand(adapter.personPrompt?.(call, prior) ?? undefined);
  const isKept = command !== null && adapter.passesCommands !== true;
  const draft = Object.hasOwn(adapter.events, event) ? adapter.events[event] : undefined;
  const drafts = isKept ? [heartbeat] : (draft?.(call, prior, name) ?? [heartbeat]);
  // Not every form of hook reports a session's start, so the session's first call registers it, which is a heartbeat too.
  const registers = drafts.some((it) => it.type === 'worker.registered' && (it.worker ?? worker) === worker);
  const isKnown = prior.registered || event === adapter.end || registers;
  const all: readonly EntryDraft[] = isKnown
    ? [...(move === null || registers ? [] : [move]), ...(registers ? drafts : draftMode(call, prior, drafts))]
    : [draftRegistration(call, prior, name), ...drafts.filter((it) => it !== heartbeat)];
  return {
    worker,
    entries: all.map(
      ({ worker: id = worker, unread: _noted, ...entry }): WorkerEntry => ({ entity: 'worker', id, ...entry }),
    ),
    stop: adapter.stop(call, prior),
    check: adapter.check?.(call, prior) ?? null,
    ask: adapter.ask?.(call) ?? null,
    immediateAnswer: isKept ? null : (adapter.immediateAnswer?.(call, prior) ?? null),
    command,
    scheduled: adapter.scheduled?.(call) ?? null,
    schedules: adapter.schedules?.(call) ?? null,
    unread: [...all.flatMap(({ unread = [] }) => unread), ...(isUnplaced(call, given) ? ['cwd'] : [])],
  };
}

const nothing: Omit<Translation, 'worker'> = {
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

/** A known worker names a folder that is not absolute, so it stays where it is. */
const isUnplaced = ({ cwd }: BaseCall, { registered }: PriorWorker): boolean =>
  registered && cwd !== undefined && cwd !== '' && !isAbsoluteFolder(cwd);

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
export function readBody<Value>(schema: z.ZodType<Value>, body: unknown, title: string): Value {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const issues = toIssues(read.error, body);
  throw new AppError('input.bad', `this is not a hook call of ${title}: ${describeIssues(issues)}`, { issues });
}

/** What `catch` has left out of it. */
function unreadIn(given: unknown, read: unknown): readonly string[] {
  const fields = read as Readonly<Record<string, unknown>>;
  return Object.entries(given as object).flatMap(([key, value]) =>
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
