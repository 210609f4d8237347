/**
 * OpenCode: translates the calls of our plugin (plugin.ts) into entries and stop attempts. Tested with 1.18.33. Pure.
 *
 * OpenCode has no hook that can refuse a stop. The plugin asks when the root session becomes idle, and turns a block
 * into a new prompt, which comes back as a `chat.message`. For an escalated session, the answer makes the plugin wait
 * for the person. Sub-agents are separate sessions with a parent, and stop without asking.
 */
import { z } from 'zod';
import type { InputAnswer } from '../../../machines/index.ts';
import { questionsIn } from '../../../machines/values/questions.ts';
import { type CallOf, defineAgent, fields, flag, readBody, sessionName, text } from '../agent.ts';
import { allowNote, blockAnswer } from '../shared/block-text.ts';
import {
  draftInputRequest,
  draftPrompt,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftToolResult,
  draftToolStart,
  draftToolUse,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import { draftLimit, limitMsMax, mentionsLimit } from '../shared/limit-end.ts';
import {
  answersTo,
  denialText,
  describeQuestion,
  describeToolRequest,
  type InputFields,
  isRequestFor,
} from '../shared/permission-requests.ts';
import { readPlan, withUnreadPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { authorOf } from '../shared/prompt-author.ts';
import { type KnownTools, readToolChanges } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';

const title = 'OpenCode';

const info = z.object({ id: text, parentID: text, directory: text }).optional().catch(undefined);

/** Events of OpenCode's bus have a type and properties; calls of its hooks have an input and an output. */
const bodySchema = z.object({
  type: text,
  properties: z
    .object({
      sessionID: text,
      info,
      todos: z.unknown().optional(),
      /** The id of a permission request or question. `requestID` is the one that was answered. */
      id: text,
      requestID: text,
      permission: text,
      patterns: z.array(z.string()).optional().catch(undefined),
      metadata: fields,
      questions: z.unknown().optional(),
      error: z.object({ name: text, data: fields }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  input: z.object({ sessionID: text, tool: text, callID: text, args: fields }).optional().catch(undefined),
  output: z
    .object({
      metadata: fields,
      parts: z
        .array(z.object({ type: text, text, synthetic: flag }))
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  /** Added by the plugin: its working folder, and the message that ended the turn. */
  directory: text,
  lastMessage: text,
});
type OpencodeCall = CallOf<typeof bodySchema>;

const noEntries = () => [];

export const opencode = defineAgent({
  name: 'opencode',
  title,
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['opencode', 'run', '--session', session, prompt],
  promptsResolution: true,
  body: bodySchema,
  eventOf: ({ type }, inUrl) => type || inUrl,
  callerOf({ properties, input, directory }, event) {
    // Calls of `opencode run` look like those of a session with a person, so `interactive` stays unknown.
    const session = { sessionID: properties?.sessionID || properties?.info?.id || input?.sessionID };
    const { sessionID: worker } = readBody(z.object({ sessionID: sessionName }), session, title);
    // Messages have an `info` of a different kind.
    const about = event.startsWith('session.') ? properties?.info : undefined;
    const parent = about?.parentID ? readBody(sessionName, about.parentID, title) : null;
    // Tools run in the plugin's folder, regardless of where the session was started.
    return { worker, parent, cwd: directory ?? about?.directory };
  },
  events: {
    'session.created': (call, prior, agent) =>
      isNew(call, prior) ? [draftRegistration(call, prior, agent)] : [heartbeat],
    'chat.message': draftPrompted,
    'tool.execute.before': ({ input }) => [draftToolStart({ tool: input?.tool, id: input?.callID })],
    'tool.execute.after': (call, prior) => [...draftToolResult(prior), draftToolEnd(call, prior)],
    'todo.updated': draftPlan,
    // The requests themselves are stored by `ask`.
    'permission.asked': noEntries,
    'question.asked': noEntries,
    'permission.updated': () => [draftInputRequest(undefined, 'permission')],
    'permission.replied': draftReplied,
    'question.replied': draftReplied,
    'question.rejected': draftReplied,
    'session.error': draftError,
    'session.idle': (_call, prior) =>
      prior.parent === null ? draftResumption(prior) : draftSessionEnd({ reason: 'idle' }, prior),
    'session.deleted': (_call, prior) => draftSessionEnd({ reason: 'deleted' }, prior),
    // A single answer of the model leads to many of these.
    'message.part.delta': noEntries,
    'message.part.updated': noEntries,
    'message.updated': noEntries,
    'session.updated': noEntries,
    'session.status': noEntries,
  },
  stop: (call, prior) => (isStop(call) && prior.parent === null ? toAttempt(call.lastMessage) : null),
  ask: describeRequest,
  answerInput,
  personPrompt: (call, prior) => {
    const prompt = call.event === 'chat.message' && prior.parent === null ? readPrompt(call) : null;
    return prompt !== null && promptedBy(prompt, prior) === 'person' ? prompt.text : null;
  },
  // The hook cannot keep a prompt from the model, so the plugin shows the answer.
  passesCommands: true,
  end: 'session.deleted',
  answer(call, decision) {
    if (!isStop(call)) return null;
    const note = allowNote(call, decision);
    return (
      blockAnswer(decision) ?? (decision.action === 'escalate' ? { decision: 'allow', waits: true, ...note } : note)
    );
  },
});

const isNew = (call: OpencodeCall, prior: PriorWorker): boolean =>
  !prior.registered || (call.parent !== null && prior.parent === null);
const isStop = ({ event }: OpencodeCall): boolean => event === 'session.idle';

// --- requests to a person -------------------------------------------------------------------------------------

function describeRequest({ event, properties = {} }: OpencodeCall): InputFields | null {
  const { id, permission, patterns, metadata = {}, questions } = properties;
  const request = id === undefined ? {} : { request: id };
  if (event === 'permission.asked') {
    const detail = Object.keys(metadata).length === 0 ? { patterns } : metadata;
    return { ...describeToolRequest('permission', permission, detail), ...request };
  }
  return event === 'question.asked' ? { ...describeQuestion('question', { questions }), ...request } : null;
}

/**
 * The reply for the plugin to send. A denied question is answered with the reason: dismissing it would end the turn.
 */
function answerInput(answer: InputAnswer, { event, properties = {} }: OpencodeCall): object | null {
  const isAllowed = answer.verdict === 'allow';
  if (event === 'permission.asked')
    return { reply: isAllowed ? { reply: 'once' } : { reply: 'reject', message: denialText(answer) } };
  const { questions } = properties;
  const answers = isAllowed
    ? answersTo({ questions }, answer.message)
    : (questionsIn(properties)?.map(() => denialText(answer)) ?? null);
  return answers === null ? null : { reply: { answers: answers.map((text) => [text]) } };
}

/** Ends only the request that was answered, because parallel ones may still be open. */
function draftReplied({ properties }: OpencodeCall, { held, awaitsInput }: PriorWorker): readonly EntryDraft[] {
  const request = held.find((id) => isRequestFor(id, properties?.requestID));
  if (request !== undefined) return [{ type: 'input.received', data: { request } }];
  return awaitsInput && held.length === 0 ? [{ type: 'input.received', data: {} }] : [heartbeat];
}

/** A sub-agent is prompted by its parent. */
function draftPrompted(call: OpencodeCall, prior: PriorWorker): readonly EntryDraft[] {
  if (prior.parent !== null) return [{ type: 'prompt.submitted', data: { by: 'agent' } }];
  const prompt = readPrompt(call);
  return [draftPrompt(prompt.text, prior, promptedBy(prompt, prior))];
}

/** `hasOthers` is true if there are files or mentions of agents. A person's prompt may consist of these only. */
type Prompt = { readonly text: string; readonly isSynthetic: boolean; readonly hasOthers: boolean };

/** OpenCode marks parts that it added itself as `synthetic`, such as file contents or a message after a compaction. */
function readPrompt({ output }: OpencodeCall): Prompt {
  const parts = output?.parts ?? [];
  const typed = parts.filter(({ type, synthetic }) => type === 'text' && synthetic !== true);
  return {
    text: typed.map((part) => part.text ?? '').join('\n'),
    isSynthetic: typed.length === 0,
    hasOthers: parts.some(({ type }) => type === 'file' || type === 'agent' || type === 'subtask'),
  };
}

const promptedBy = ({ text: words, isSynthetic, hasOthers }: Prompt, prior: PriorWorker) =>
  hasOthers && words.trim() === '' ? 'person' : isSynthetic ? 'system' : authorOf(words, prior);

function draftPlan({ properties }: OpencodeCall): readonly EntryDraft[] {
  const plan = readPlan(properties?.todos, 'content');
  return plan === null ? [withUnreadPlan(heartbeat)] : [plan];
}

/** Deliberately not harmless: `task` (its sub-agents may change any file), `batch` (runs other tools) and `skill`. */
const opencodeTools: KnownTools = {
  harmless: [
    'read',
    'grep',
    'glob',
    'list',
    'webfetch',
    'websearch',
    'codesearch',
    'todowrite',
    'todoread',
    'question',
    'lsp',
    'plan_enter',
    'plan_exit',
    'invalid',
  ],
  writers: { write: ['filePath'], edit: ['filePath'], multiedit: ['filePath'] },
  patches: { patch: ['patchText', 'patch'], apply_patch: ['patchText', 'patch', 'input'] },
  shells: { bash: ['command'] },
};

function draftToolEnd(call: OpencodeCall, prior: PriorWorker): EntryDraft {
  const { tool, callID: id, args } = call.input ?? {};
  const { metadata } = call.output ?? {};
  const exit = metadata?.exit;
  const ok = typeof exit !== 'number' || exit === 0;
  return draftToolUse({ tool, ok, id, ...readToolChanges(opencodeTools, tool, args, ok, metadata) }, call, prior);
}

const limitSchema = z.object({
  statusCode: z.literal(429),
  responseHeaders: z.object({ date: text, 'retry-after': text }).optional().catch(undefined),
});

function draftError({ properties }: OpencodeCall): EntryDraft[] {
  const data = properties?.error?.data;
  const limit = limitSchema.safeParse(data).data;
  const words = typeof data?.message === 'string' ? data.message : '';
  // Without a status code, the message decides.
  if (limit === undefined && (typeof data?.statusCode === 'number' || !mentionsLimit(words))) return [heartbeat];
  const until = limitEnd(limit?.responseHeaders?.date, limit?.responseHeaders?.['retry-after']);
  return until === null ? [draftLimit(words)] : [{ type: 'limit.reached', data: { until } }];
}

/** When the provider accepts requests again, by its own clock (`Date` and `Retry-After`, RFC 9110). Null if unknown. */
function limitEnd(date = '', retryAfter = ''): string | null {
  const nowMs = Date.parse(date);
  const endMs = /^\d{1,7}$/.test(retryAfter) ? nowMs + Number(retryAfter) * 1_000 : Date.parse(retryAfter);
  return endMs >= nowMs && endMs - nowMs <= limitMsMax ? new Date(endMs).toISOString() : null;
}
