/**
 * Copilot CLI: its hook calls to our entries and our question, our decision to its JSON. Seen with 1.0.102. Pure. A
 * block comes back as `userPromptSubmitted` with our words as the prompt. A sub-agent's own `agentStop` cannot be
 * blocked and is never its parent's: the sub-agent is asked for at `subagentStop`.
 */
import type { KnownWorker } from './adapter.ts';
import { blockWords } from './block-words.ts';
import { type CopilotCall, readCopilot } from './copilot-call.ts';
import { readTodos } from './copilot-plan.ts';
import { type Agent, createReader, type Row, type Table } from './reader.ts';
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
} from './said.ts';

const name = 'copilot';

const rows: Table<CopilotCall> = new Map<string, Row<CopilotCall>>([
  // With the names in PascalCase the first prompt comes before its session's start.
  ['sessionStart', (call, known) => (isAgain(call, known) ? [heartbeat] : sessionStarted(name, call, known))],
  ['userPromptSubmitted', (call, known) => [promptSubmitted(call.prompt ?? '', known)]],
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
  ['sessionEnd', (call, known) => sessionEnded(call.reason, known)],
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
  const { changes, unread } = readTodos(query, known.plan);
  return [unread ? withNote(use) : use, ...changes];
}

/** Unknown fields are kept in the log: whoever wonders about the plan finds it there. */
const withNote = (use: Said): Said => ({
  ...use,
  data: { ...use.data, note: 'the plan is unknown: this statement on todos could not be read' },
});
