/**
 * Copilot CLI: translates hook calls into our entries and stop attempts, and our decision into Copilot's JSON. Seen with
 * 1.0.102. Pure. A block comes back as `userPromptSubmitted` with our text as the prompt. A sub-agent's own `agentStop`
 * cannot be blocked and is never its parent's stop: a sub-agent stops at `subagentStop`.
 */

import { type Adapter, createHookReader, type DraftEntries, type EventTable } from '../shared/adapter.ts';
import { allowNote, blockAnswer } from '../shared/block-text.ts';
import {
  draftInputRequest,
  draftPrompt,
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
import { type CopilotCall, readCopilot } from './call.ts';
import { readTodos } from './plan.ts';

const name = 'copilot';

const events: EventTable<CopilotCall> = new Map<string, DraftEntries<CopilotCall>>([
  // With PascalCase names the first prompt comes before the session's start.
  ['sessionStart', (call, prior) => (isRepeated(call, prior) ? [heartbeat] : draftSessionStart(name, call, prior))],
  ['userPromptSubmitted', (call, prior) => [draftPrompted(call.prompt ?? '', prior)]],
  // Not `permissionRequest`: it comes before every tool, even if no person is asked.
  ['notification', (call) => (isPermission(call) ? [draftInputRequest(call.message, 'permission')] : [heartbeat])],
  ['preToolUse', ({ toolName: tool }) => [draftToolStart({ tool })]],
  ['postToolUse', (call, prior) => [...draftResumption(prior), ...draftToolEnd(call, prior)]],
  [
    'postToolUseFailure',
    (call, prior) => [...draftResumption(prior), draftToolUse({ tool: call.toolName, ok: false }, call, prior)],
  ],
  ['agentStop', (call, prior) => (call.parent === null ? draftResumption(prior) : [heartbeat])],
  [
    'subagentStart',
    (call, prior) => [draftRegistration(name, call, prior), ...draftForParent(call, 'background.started')],
  ],
  ['subagentStop', (call, prior) => [...draftResumption(prior), ...draftForParent(call, 'background.finished')]],
  ['sessionEnd', (call, prior) => (isPause(call, prior) ? [heartbeat] : draftSessionEnd(call.reason, prior))],
]);

const adapter: Adapter<CopilotCall> = {
  name,
  read: readCopilot,
  events,
  stop: (call) => (isStop(call) ? toAttempt(call.response, call.stopReason) : null),
  isEnd: ({ event }) => event === 'sessionEnd',
  answer: (call, decision) => (isStop(call) ? (blockAnswer(decision) ?? allowNote(call, decision)) : null),
};
export const readCopilotHook = createHookReader(adapter);

const isStop = ({ event, parent }: CopilotCall): boolean =>
  event === 'subagentStop' ? parent !== null : event === 'agentStop' && parent === null;
const isRepeated = (call: CopilotCall, prior: PriorWorker): boolean => prior.registered && call.source !== 'resume';
const isPermission = (call: CopilotCall): boolean => call.notificationType === 'permission_prompt';

/** Without a terminal it reports the end of a turn as the session's, even if the end of a sub-agent will wake it. */
const isPause = (call: CopilotCall, prior: PriorWorker): boolean =>
  call.reason === 'complete' && prior.background.length > 0;

/** The end of a background sub-agent wakes it with a prompt that no person typed: the retries must not be reset. */
function draftPrompted(prompt: string, prior: PriorWorker): EntryDraft {
  const isNotice = prompt.trimStart().startsWith('<system_notification>');
  return isNotice && !prior.stopped ? heartbeat : draftPrompt(prompt, prior);
}

/**
 * A stop of the parent does not list its background sub-agents, so their start and end tell that the parent waits. The
 * end is the sub-agent's first stop attempt: the parent need not wait for the work that a block adds.
 */
function draftForParent(
  { parent, worker: id }: CopilotCall,
  type: 'background.started' | 'background.finished',
): readonly EntryDraft[] {
  if (parent === null) return [];
  return [{ type, data: { id, kind: 'subagent' }, worker: parent }];
}

const writers: ReadonlySet<string | undefined> = new Set(['create', 'edit']);

function draftToolEnd(call: CopilotCall, prior: PriorWorker): readonly EntryDraft[] {
  const { toolName: tool, toolArgs: args, toolResult: result } = call;
  const kind = result?.resultType ?? result?.result_type;
  const ok = typeof kind !== 'string' || kind === 'success';
  const use = draftToolUse({ tool, ok, files: ok && writers.has(tool) ? [args?.path] : [] }, call, prior);
  const query = args?.query;
  if (!ok || tool !== 'sql' || typeof query !== 'string') return [use];
  const { changes, unread } = readTodos(query, call.parent === null ? prior.plan : null);
  return [unread ? withNote(use) : use, ...changes.map((change) => forSession(change, call))];
}

/** A session and its sub-agents share one table: a step that one of them changes is the session's. */
const forSession = (change: EntryDraft, { parent }: CopilotCall): EntryDraft =>
  parent === null ? change : { ...change, worker: parent };

/** The log keeps unknown fields, so this note can be found by whoever debugs the plan. */
const withNote = (use: EntryDraft): EntryDraft => ({
  ...use,
  data: { ...use.data, note: 'the plan is unknown: this statement on todos could not be read' },
});
