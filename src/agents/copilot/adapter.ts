/**
 * Copilot CLI: translates hook calls into entries and stop attempts, and decisions into Copilot's JSON. Tested with
 * 1.0.102. Pure.
 *
 * - A block comes back as `userPromptSubmitted` with our text as the prompt.
 * - A sub-agent stops at `subagentStop`. Its own `agentStop` cannot be blocked and is not its parent's stop.
 * - A hook registered as `agentStop` gets camelCase keys without the event name. A hook registered as `Stop` gets
 *   snake_case keys and the name. Both are read into the same form.
 */
import { z } from 'zod';
import { tryJson } from '../../text/json-text.ts';
import { type CallOf, defineAgent, fields, sessionName, text } from '../agent.ts';
import { type AnswerableDecision, allowNote, blockAnswer } from '../shared/block-text.ts';
import {
  draftInputRequest,
  draftPrompted,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftSessionStart,
  draftToolStart,
  draftToolUse,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { authorOf } from '../shared/prompt-author.ts';
import { toId } from '../shared/text.ts';
import { type KnownTools, readToolChanges, type ToolChanges } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';
import { readTodos } from './plan.ts';

/** The form with camelCase keys. */
const bodySchema = z.object({
  sessionId: sessionName,
  hookEventName: text,
  hookName: text,
  cwd: text,
  source: text,
  prompt: text,
  stopReason: text,
  toolName: text,
  toolArgs: fields,
  toolResult: fields,
  agentId: text,
  agentType: text,
  agentName: text,
  parentAgentId: text,
  response: text,
  notificationType: text,
  message: text,
  reason: text,
});
type CopilotCall = CallOf<typeof bodySchema>;

/** The adapter without the program's identity, for VS Code, which sends the same fields (claude/callers.ts). */
export const copilotAdapter = {
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  body: bodySchema,
  normalize: inCamelCase,
  eventOf: ({ hookEventName, hookName }: z.output<typeof bodySchema>, inUrl: string | undefined) =>
    toCamelCase(hookEventName || hookName || inUrl),
  // `copilot --prompt` starts like a session with a person, so `interactive` stays unknown.
  callerOf({ sessionId, parentAgentId, agentId, agentType }: z.output<typeof bodySchema>) {
    if (!agentId) return { worker: sessionId, parent: null };
    const parent = parentAgentId ? toId(parentAgentId) : sessionId;
    return { worker: childId(parent, agentId), parent, kind: agentType };
  },
  events: {
    // With PascalCase names, the first prompt arrives before the session start.
    sessionStart: (call: CopilotCall, prior: PriorWorker, agent: string) =>
      isRepeated(call, prior) ? [heartbeat] : draftSessionStart(call, prior, agent),
    // The end of a background sub-agent wakes the session with a prompt that `authorOf` recognises as the system's.
    userPromptSubmitted: draftPrompted,
    // `permissionRequest` is not used: it precedes every tool, even if no person is asked.
    notification: (call: CopilotCall) =>
      isPermission(call) ? [draftInputRequest(call.message, 'permission')] : [heartbeat],
    preToolUse: ({ toolName: tool }: CopilotCall) => [draftToolStart({ tool })],
    postToolUse: (call: CopilotCall, prior: PriorWorker) => [...draftResumption(prior), ...draftToolEnd(call, prior)],
    postToolUseFailure: (call: CopilotCall, prior: PriorWorker) => [
      ...draftResumption(prior),
      draftTool(call, false, prior),
    ],
    agentStop: (call: CopilotCall, prior: PriorWorker) => (call.parent === null ? draftResumption(prior) : [heartbeat]),
    subagentStart: (call: CopilotCall, prior: PriorWorker, agent: string) => [
      draftRegistration(call, prior, agent),
      ...draftForParent(call, 'background.started'),
    ],
    subagentStop: (call: CopilotCall, prior: PriorWorker) => [
      ...draftResumption(prior),
      ...draftForParent(call, 'background.finished'),
    ],
    sessionEnd: (call: CopilotCall, prior: PriorWorker) =>
      isPause(call, prior) ? [heartbeat] : draftSessionEnd(call, prior),
  },
  stop: (call: CopilotCall) => (isStop(call) ? toAttempt(call.response, call.stopReason) : null),
  personPrompt: (call: CopilotCall, prior: PriorWorker) => {
    const isForSession = call.event === 'userPromptSubmitted' && call.parent === null;
    return isForSession && authorOf(call.prompt, prior) === 'person' ? (call.prompt ?? null) : null;
  },
  // Copilot ignores the answer to a prompt hook.
  passesCommands: true,
  end: 'sessionEnd',
  answer: (call: CopilotCall, decision: AnswerableDecision) =>
    isStop(call) ? (blockAnswer(decision) ?? allowNote(call, decision)) : null,
} as const;

export const copilot = defineAgent({
  ...copilotAdapter,
  name: 'copilot',
  title: 'Copilot CLI',
  resume: (session, prompt) => ['copilot', `--resume=${session}`, '--prompt', prompt],
});

/** Maps PascalCase event names to camelCase: `Stop` to `agentStop`, `PostToolUse` to `postToolUse`. */
const toCamelCase = (event = ''): string => names.get(event) ?? event.charAt(0).toLowerCase() + event.slice(1);
const names: ReadonlyMap<string, string> = new Map([
  ['Stop', 'agentStop'],
  ['UserPromptSubmit', 'userPromptSubmitted'],
]);

/**
 * A sub-agent's own calls have its id as the session; its start and end have the parent's session and its id. A UUID is
 * therefore used as the worker's id in both cases. Any other id, such as a name, could occur in two sessions.
 */
function childId(parent: string, agent: string): string {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(agent) ? agent : toId(`${parent}-${agent}`);
}

/** Converts snake_case keys, and tool arguments that older versions send as a JSON string. */
function inCamelCase(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const entries = Object.entries(body).map(([key, value]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  const { toolInput, ...rest } = Object.fromEntries(entries) as Record<string, unknown>;
  const toolArgs = rest.toolArgs ?? toolInput;
  return { ...rest, toolArgs: typeof toolArgs === 'string' ? readArguments(toolArgs) : toolArgs };
}

/** Tools without a schema, such as `apply_patch`, get a single text. */
function readArguments(text: string): unknown {
  const read = tryJson(text);
  return typeof read === 'object' && read !== null ? read : { [freeText]: typeof read === 'string' ? read : text };
}
const freeText = 'text';

const isStop = ({ event, parent }: CopilotCall): boolean =>
  event === 'subagentStop' ? parent !== null : event === 'agentStop' && parent === null;
const isRepeated = (call: CopilotCall, prior: PriorWorker): boolean => prior.registered && call.source !== 'resume';
/** Other notifications only count as heartbeats. */
const isPermission = (call: CopilotCall): boolean => call.notificationType === 'permission_prompt';

/** Without a terminal, Copilot reports a session end after a turn even if a background sub-agent will wake it again. */
const isPause = (call: CopilotCall, prior: PriorWorker): boolean =>
  call.reason === 'complete' && prior.background.length > 0;

/**
 * A parent's stop does not list its background sub-agents, so we track them by their start and end. The end is the
 * sub-agent's first stop attempt: the parent need not wait for work that a block adds.
 */
function draftForParent(
  { parent, worker: id }: CopilotCall,
  type: 'background.started' | 'background.finished',
): readonly EntryDraft[] {
  if (parent === null) return [];
  return [{ type, data: { id, kind: 'subagent' }, worker: parent }];
}

/** Tools of VS Code's agent that change no file. */
const vscodeReaders = ['read_file', 'list_dir', 'file_search', 'grep_search', 'semantic_search', 'manage_todo_list'];

/**
 * Deliberately not harmless: `task` (its sub-agents may change any file), `skill`, `write_bash` (sends input to a
 * running shell), `read_bash`, `read_powershell` and `read_agent` (report on background work), and `powershell` (its
 * commands are not analysed).
 */
const copilotTools: KnownTools = {
  harmless: [
    'view',
    'grep',
    'rg',
    'glob',
    'web_fetch',
    'web_search',
    'sql',
    'report_intent',
    'update_todo',
    'ask_user',
    'show_file',
    'list_bash',
    'stop_bash',
    'list_powershell',
    'stop_powershell',
    'list_agents',
    'exit_plan_mode',
    'fetch_copilot_cli_documentation',
    ...vscodeReaders,
  ],
  writers: {
    create: ['path'],
    edit: ['path'],
    create_file: ['filePath'],
    replace_string_in_file: ['filePath'],
    insert_edit_into_file: ['filePath'],
  },
  patches: {
    apply_patch: [freeText, 'input', 'patch', 'patchText', 'command'],
    patch: [freeText, 'input', 'patch', 'patchText'],
  },
  shells: { bash: ['command'], run_in_terminal: ['command'] },
};

/** Results after which a tool that writes a single file has changed nothing. After any other result it may have. */
const failures: ReadonlySet<unknown> = new Set(['failure', 'error', 'rejected', 'denied']);

function draftTool(call: CopilotCall, ok: boolean, prior: PriorWorker, isFailure = !ok): EntryDraft {
  const { toolName: tool, toolArgs: args = {} } = call;
  const changes =
    tool === 'str_replace_editor'
      ? readEditorChanges(args, isFailure)
      : readToolChanges(copilotTools, tool, args, !isFailure, call.toolResult);
  return draftToolUse({ tool, ok, ...changes }, call, prior);
}

/** `str_replace_editor` has several commands. Only `view` does not write. */
const readEditorChanges = ({ command, path }: Readonly<Record<string, unknown>>, isFailure: boolean): ToolChanges =>
  command === 'view' || isFailure ? { changes: 'none', files: [] } : { changes: 'files', files: [path] };

function draftToolEnd(call: CopilotCall, prior: PriorWorker): readonly EntryDraft[] {
  const { toolName: tool, toolArgs: args, toolResult: result } = call;
  const kind = result?.resultType ?? result?.result_type;
  // An unknown result is not a success, so no command counts as run. It is not a failure either.
  const ok = typeof kind !== 'string' || kind === 'success';
  const use = draftTool(call, ok, prior, failures.has(kind));
  const query = args?.query;
  if (!ok || tool !== 'sql' || typeof query !== 'string') return [use];
  const { changes, unread } = readTodos(query, call.parent === null ? prior.plan : null);
  return [unread ? withNote(use) : use, ...changes.map((change) => forSession(change, call))];
}

/** A session and its sub-agents share a table, so changes by a sub-agent go to the session's plan. */
const forSession = (change: EntryDraft, { parent }: CopilotCall): EntryDraft =>
  parent === null ? change : { ...change, worker: parent };

/** Adds a note that helps to debug an outdated plan. */
const withNote = (use: EntryDraft): EntryDraft => ({
  ...use,
  data: { ...use.data, note: 'the plan is unknown: this statement on todos could not be read' },
  unread: 'plan',
});
