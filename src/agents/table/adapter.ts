/**
 * The adapter of the agents in rows.ts. Reads a call by the field paths of its row, and answers in the form that the
 * row names. Pure. An event that the row does not list never lets an agent stop silently: see `unknownEvent`.
 */
import { z } from 'zod';
import { type Agent, type CallOf, defineAgent, flag, sessionName, text } from '../agent.ts';
import { allowNote, allowNotice, blockText, findingsText, stopText } from '../shared/block-text.ts';
import { callerOf, claudeFields, draftFailure } from '../shared/claude-calls.ts';
import {
  type DraftEntries,
  draftPrompt,
  draftResumption,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  draftToolStart,
  draftToolUse,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import { readPlan, withUnreadPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { authorOf } from '../shared/prompt-author.ts';
import { firstChars } from '../shared/text.ts';
import { readToolChanges } from '../shared/tool-changes.ts';
import { blockOf, eventsThatMean, tableCommands } from './hook-command.ts';
import type { FieldPaths, Meaning, Paths, TableRow } from './rows.ts';

const bodySchema = z.object({
  session_id: sessionName,
  ...claudeFields,
  tool_response: z.unknown().optional(),
  parent_id: text,
  invocation: z.number().optional().catch(undefined),
  idle: flag,
  success: flag,
  error_type: text,
  error_details: text,
});
type Call = CallOf<typeof bodySchema>;

export function createTableAgent(row: TableRow): Agent {
  const { name, title, resume, dryTurn } = row;
  const hookCommand = tableCommands.get(name);
  if (hookCommand === undefined) throw new Error(`${name} is not in the table`);
  const meanings = new Map(Object.entries({ ...row.alsoReads, ...row.events }));
  const meaningOf = ({ event }: Call): Meaning | undefined => meanings.get(event);
  const drafts: Readonly<Record<Meaning, DraftEntries<Call>>> = {
    ...sharedDrafts,
    ...toolDrafts(row),
    stop: draftStop(row),
  };
  const isSession = ({ parent }: Call): boolean => parent === null;
  const isStop = (call: Call): boolean => meaningOf(call) === 'stop' && isSession(call);
  const notice = row.showsMessages ? allowNotice : allowNote;
  return defineAgent({
    name,
    title,
    hookCommand,
    settings: async () => (await import('./settings.ts')).settingsOf(row),
    doctor: dryTurn === null ? 'settings' : 'dry turn',
    resume,
    body: bodySchema,
    normalize: (body) => readFields(row.fields, body),
    callerOf: ({ session_id, agent_id, parent_id, permission_mode: mode }) => ({
      ...callerOf(session_id, parent_id ? (agent_id ?? parent_id) : undefined, undefined),
      mode,
    }),
    events: Object.fromEntries([...meanings].map(([event, meaning]) => [event, drafts[meaning]])),
    otherEvents: () => [{ ...heartbeat, unread: 'event' }],
    stop: (call) => (isStop(call) ? toAttempt(call.last_assistant_message) : null),
    check: (call) =>
      row.addsContext && meaningOf(call) === 'tool-end' && isSession(call) ? 'complete-throttled' : null,
    personPrompt: (call, prior) =>
      meaningOf(call) === 'prompt' && isSession(call) && authorOf(call.prompt, prior) === 'person'
        ? (call.prompt ?? null)
        : null,
    ...(row.holdsPrompts
      ? { answerCommand: (reason: string) => blockOf(row, reason) ?? {} }
      : { passesCommands: true }),
    immediateAnswer: (call) => (meanings.has(call.event) ? null : unknownEvent(row, call.event)),
    end: eventsThatMean(row, 'end')[0] ?? 'SessionEnd',
    answer(call, decision, check) {
      if (check === 'complete-throttled')
        return decision.decision === 'block'
          ? { contextModification: findingsText(decision) }
          : { cancel: true, errorMessage: stopText(decision) };
      if (!isStop(call)) return null;
      if (decision.decision !== 'block') return notice(call, decision);
      return (
        blockOf(row, blockText(decision)) ?? {
          note: `stopgate: this stop of ${title} should be blocked, but its hooks cannot do that. ${blockText(decision)}`,
        }
      );
    },
  });
}

/**
 * A newer version may ask to stop with an event that we do not know. Nothing is judged then, and the answer says so.
 */
function unknownEvent({ title, showsMessages }: TableRow, event: string): object {
  const text = `stopgate: ${title}'s event ${firstChars(event, eventCharsMax)} is not known, so it was not judged.`;
  return showsMessages ? { systemMessage: text } : { note: text };
}
const eventCharsMax = 60;

// --- fields -----------------------------------------------------------------------------------------------------

/** Returns the fields of a call under our names. A body that is not an object is left to the schema. */
function readFields(fields: FieldPaths, body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const found = Object.entries(fields).map(([field, paths]) => [field, firstGiven(body, paths)] as const);
  const read: Record<string, unknown> = Object.fromEntries(found.filter(([, value]) => isGiven(value)));
  if (read.prompt !== undefined) read.prompt = textOfParts(read.prompt);
  return read;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const firstGiven = (body: object, paths: Paths): unknown =>
  [paths]
    .flat()
    .map((path) => valueAt(body, path))
    .find(isGiven);

function valueAt(body: unknown, path: string): unknown {
  let value = body;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

/** Kimi sends a prompt as a list of parts. Any other form is left to the schema, which notes that it is unread. */
function textOfParts(prompt: unknown): unknown {
  if (!Array.isArray(prompt)) return prompt;
  const texts = prompt.map((part) => (typeof part === 'string' ? part : (part as { text?: unknown } | null)?.text));
  return texts.filter((part) => typeof part === 'string').join('\n');
}

// --- entries ----------------------------------------------------------------------------------------------------

/**
 * A call without the prompt's text counts as the continuation if the last decision was a block or background work was
 * running, and otherwise as a person's prompt.
 */
const draftPrompted: DraftEntries<Call> = ({ prompt, invocation, parent }, prior) => {
  if (parent !== null) return [draftPrompt(prompt, prior, 'agent')];
  if (prompt !== undefined) return [draftPrompt(prompt, prior)];
  const continues = prior.lastDecision?.decision === 'block' || prior.background.length > 0;
  if (continues || (invocation ?? 0) > 0) return [heartbeat];
  return [draftPrompt('', prior, 'person')];
};

const sharedDrafts = {
  start: draftSessionStart,
  prompt: draftPrompted,
  failure: ({ error_type: error, error_details }, ...rest) => draftFailure({ error, error_details }, ...rest),
  end: (call, prior) => (call.parent === null ? draftSessionEnd(call, prior) : [heartbeat]),
  alive: () => [heartbeat],
} satisfies Partial<Record<Meaning, DraftEntries<Call>>>;

/** The id of background work. The agent only says whether there is any. */
const workId = 'background';

/** If tools are not reported, the turn may have changed any file. */
const draftStop =
  ({ name, reportsToolEnds }: TableRow): DraftEntries<Call> =>
  (call, prior) => {
    const { idle, parent } = call;
    if (parent !== null) return draftResumption(prior);
    const isWorking = prior.background.includes(workId);
    return [
      ...draftResumption(prior),
      ...(reportsToolEnds === null ? [draftToolUse({ tool: name, ok: true, changes: 'unknown' }, call, prior)] : []),
      ...(idle === false && !isWorking ? [{ type: 'background.started', data: { id: workId, kind: workId } }] : []),
      ...(idle === true && isWorking ? [{ type: 'background.finished', data: { id: workId } }] : []),
    ];
  };

function toolDrafts(row: TableRow) {
  const changesOf = ({ tool_name: tool, tool_input: input, tool_response: response }: Call, ok: boolean) =>
    readToolChanges(row.tools, tool, withOneCommand(row, tool, input), ok, response);
  /** The plan after this call, or null if the call does not write one. */
  const planOf = ({ tool_name: tool, tool_input: input, parent }: Call) =>
    row.plan !== undefined && tool === row.plan.tool && parent === null
      ? (readPlan(listIn(input?.[row.plan.list]), row.plan.title) ?? 'unread')
      : null;
  const withPlan = (use: EntryDraft, call: Call): readonly EntryDraft[] => {
    const plan = planOf(call);
    if (plan === 'unread') return [withUnreadPlan(use)];
    return plan === null ? [use] : [use, plan];
  };
  const started: DraftEntries<Call> = (call, prior) => {
    const { tool_name: tool, tool_use_id: id } = call;
    const start = draftToolStart({ tool, id });
    if (row.reportsToolEnds !== false) return [start];
    // The command has not run yet, so it is no evidence. The entry omits the call's id, so that it does not end the
    // call.
    const { command: _command, ...changes } = changesOf(call, true);
    const use = draftToolUse({ tool, ok: true, ...changes }, call, prior);
    if (planOf(call) !== null) return [...withPlan(use, call), start];
    return changes.changes === 'none' ? [start] : [use, start];
  };
  const ended =
    (isOk: (call: Call) => boolean): DraftEntries<Call> =>
    (call, prior: PriorWorker) => {
      const ok = isOk(call);
      const { tool_name: tool, tool_use_id: id } = call;
      const use = draftToolUse({ tool, ok, id, ...changesOf(call, ok) }, call, prior);
      return [...draftToolResult(prior), ...(ok ? withPlan(use, call) : [use])];
    };
  return {
    'tool-start': started,
    'tool-end': ended((call) => call.success !== false && haveSucceeded(call)),
    'tool-failed': ended(() => false),
  };
}

/** Cline runs a list of commands one after the other. They count as one command. */
function withOneCommand({ tools }: TableRow, tool: string | undefined, input: Call['tool_input']): Call['tool_input'] {
  const [key] = (tool !== undefined && Object.hasOwn(tools.shells, tool) ? tools.shells[tool] : undefined) ?? [];
  const list = key === undefined ? undefined : input?.[key];
  if (key === undefined || !Array.isArray(list) || key !== commandList) return input;
  const isRead = list.every((command) => typeof command === 'string');
  return { ...input, [key]: isRead ? list.join(' && ') : undefined };
}
const commandList = 'commands';

/** False if one of several commands failed or its result is unknown. None of them counts as evidence then. */
function haveSucceeded({ tool_input: input, tool_response: response }: Call): boolean {
  if (!Array.isArray(input?.[commandList])) return true;
  return (
    Array.isArray(response) && response.every((result) => (result as { success?: unknown } | null)?.success === true)
  );
}

/** Droid's models also write the list as lines such as `1. [pending] Write the tests`. */
function listIn(list: unknown): unknown {
  if (typeof list !== 'string') return list;
  const steps = list.split('\n').flatMap((line) => {
    const [, status, content] = /^\s*(?:\d+[.)]|[-*])?\s*\[(\w+)\]\s*(\S.*)$/.exec(line) ?? [];
    return line.trim() === '' ? [] : [status === undefined ? null : { status, content }];
  });
  return steps.length === 0 || steps.includes(null) ? list : steps;
}
