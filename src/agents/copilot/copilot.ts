/**
 * Copilot CLI: its hook calls to our entries and our question, our decision to its JSON. Seen with 1.0.102. Pure. A
 * block comes back as `userPromptSubmitted` with our words as the prompt. A sub-agent's own `agentStop` cannot be
 * blocked and is never its parent's: the sub-agent is asked for at `subagentStop`.
 */
import type { KnownWorker } from '../shared/adapter.ts';
import { blockWords } from '../shared/block-text.ts';
import {
  attemptOf,
  heartbeat,
  inputRequested,
  promptSubmitted,
  registration,
  resumed,
  type Said,
  sessionEnded,
  sessionStarted,
  toolUsed,
} from '../shared/entry-drafts.ts';
import { type Agent, createReader, type Row, type Table } from '../shared/reader.ts';
import { type CopilotCall, readCopilot } from './call.ts';
import { readTodos } from './plan.ts';

const name = 'copilot';

const rows: Table<CopilotCall> = new Map<string, Row<CopilotCall>>([
  // With the names in PascalCase the first prompt comes before its session's start.
  ['sessionStart', (call, known) => (isAgain(call, known) ? [heartbeat] : sessionStarted(name, call, known))],
  ['userPromptSubmitted', (call, known) => [prompted(call.prompt ?? '', known)]],
  // `permissionRequest` comes before every tool, whether a person is asked or not.
  ['notification', (call) => (isPermission(call) ? [inputRequested(call.message, 'permission')] : [heartbeat])],
  ['postToolUse', (call, known) => [...resumed(known), ...used(call, known)]],
  [
    'postToolUseFailure',
    (call, known) => [...resumed(known), toolUsed({ tool: call.toolName, ok: false }, call, known)],
  ],
  ['agentStop', (call, known) => (call.parent === null ? resumed(known) : [heartbeat])],
  ['subagentStart', (call, known) => [registration(name, call, known), ...ofParent(call, 'background.started')]],
  ['subagentStop', (call, known) => [...resumed(known), ...ofParent(call, 'background.finished')]],
  ['sessionEnd', (call, known) => (isPause(call, known) ? [heartbeat] : sessionEnded(call.reason, known))],
]);

const copilot: Agent<CopilotCall> = {
  name,
  read: readCopilot,
  rows,
  stop: (call) => (isStop(call) ? attemptOf(call.response, call.stopReason) : null),
  isEnd: ({ event }) => event === 'sessionEnd',
  answer: (call, decision) =>
    isStop(call) && decision.decision === 'block' ? { decision: 'block', reason: blockWords(decision) } : null,
};
export const readCopilotHook = createReader(copilot);

const isStop = ({ event, parent }: CopilotCall): boolean =>
  event === 'subagentStop' ? parent !== null : event === 'agentStop' && parent === null;
const isAgain = (call: CopilotCall, known: KnownWorker): boolean => known.registered && call.source !== 'resume';
const isPermission = (call: CopilotCall): boolean => call.notificationType === 'permission_prompt';

/** Without a terminal it takes the end of a turn for the session's, even where a sub-agent's end will wake it. */
const isPause = (call: CopilotCall, known: KnownWorker): boolean =>
  call.reason === 'complete' && known.background.length > 0;

/** The end of a sub-agent in the background wakes it with a prompt that nobody typed: no reason to retry anew. */
function prompted(prompt: string, known: KnownWorker): Said {
  const isNotice = prompt.trimStart().startsWith('<system_notification>');
  return isNotice && !known.stopped ? heartbeat : promptSubmitted(prompt, known);
}

/**
 * A sub-agent in the background is shown in no stop of its parent's, so its start and end say that the parent waits.
 * The end is that of its first wish to stop: what a block adds to it the parent need not wait for.
 */
function ofParent(
  { parent, worker: id }: CopilotCall,
  type: 'background.started' | 'background.finished',
): readonly Said[] {
  if (parent === null) return [];
  return [{ type, data: { id, kind: 'subagent' }, worker: parent }];
}

const writers: ReadonlySet<string | undefined> = new Set(['create', 'edit']);

function used(call: CopilotCall, known: KnownWorker): readonly Said[] {
  const { toolName: tool, toolArgs: args, toolResult: result } = call;
  const kind = result?.resultType ?? result?.result_type;
  const ok = typeof kind !== 'string' || kind === 'success';
  const use = toolUsed({ tool, ok, files: ok && writers.has(tool) ? [args?.path] : [] }, call, known);
  const query = args?.query;
  if (!ok || tool !== 'sql' || typeof query !== 'string') return [use];
  const { changes, unread } = readTodos(query, call.parent === null ? known.plan : null);
  return [unread ? withNote(use) : use, ...changes.map((change) => ofTable(change, call))];
}

/** A session and its sub-agents share one table: a step that one of them closes is the session's. */
const ofTable = (change: Said, { parent }: CopilotCall): Said =>
  parent === null ? change : { ...change, worker: parent };

/** Unknown fields are kept in the log: whoever wonders about the plan finds it there. */
const withNote = (use: Said): Said => ({
  ...use,
  data: { ...use.data, note: 'the plan is unknown: this statement on todos could not be read' },
});
