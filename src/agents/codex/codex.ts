/**
 * Codex: its hook calls to our entries and our question, our decision to its JSON. Seen with 0.169.0. Pure. An answer
 * has exactly the keys below: with one more Codex drops the block without a word.
 */
import { z } from 'zod';
import type { KnownWorker } from '../shared/adapter.ts';
import { blockWords, waitNotice } from '../shared/block-text.ts';
import {
  attemptOf,
  type Caller,
  inputRequested,
  promptSubmitted,
  registration,
  resumed,
  type Said,
  sessionEnded,
  sessionStarted,
  toolUsed,
} from '../shared/entry-drafts.ts';
import { oneStep, type PlanChange, wholePlan } from '../shared/plan-entry.ts';
import {
  type Agent,
  createReader,
  eventOf,
  fields,
  type Row,
  readBody,
  sessionName,
  type Table,
  text,
} from '../shared/reader.ts';
import { toId } from '../shared/safe-id.ts';

const name = 'codex';
const title = 'Codex';

const bodySchema = z.object({
  session_id: sessionName,
  hook_event_name: text,
  cwd: text,
  transcript_path: text,
  source: text,
  prompt: text,
  tool_name: text,
  tool_input: fields,
  /** A text, or an object of the tool's own. */
  tool_response: z.unknown().optional(),
  tool_use_id: text,
  last_assistant_message: text,
  agent_id: text,
  agent_type: text,
  reason: text,
});
type CodexCall = Caller & Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'>;

const rows: Table<CodexCall> = new Map<string, Row<CodexCall>>([
  ['SessionStart', (call, known) => sessionStarted(name, call, known)],
  ['UserPromptSubmit', (call, known) => [promptSubmitted(call.prompt ?? '', known)]],
  ['PermissionRequest', (call) => [inputRequested(call.tool_name, 'permission')]],
  ['PostToolUse', (call, known) => [...resumed(known), ...used(call, known)]],
  ['Stop', (_call, known) => resumed(known)],
  ['SubagentStart', (call, known) => [registration(name, call, known)]],
  ['SubagentStop', (_call, known) => resumed(known)],
  ['SessionEnd', (call, known) => sessionEnded(call.reason, known)],
]);

const codex: Agent<CodexCall> = {
  name,
  read,
  rows,
  stop: (call) => (isStop(call) ? attemptOf(call.last_assistant_message) : null),
  isEnd: ({ event }) => event === 'SessionEnd',
  answer(call, decision) {
    if (!isStop(call)) return null;
    if (decision.decision === 'block') return { decision: 'block', reason: blockWords(decision) };
    return waitNotice(call, decision);
  },
};
export const readCodexHook = createReader(codex);

/** A sub-agent that does not say which it is cannot be told from its parent, so its stop is nobody's. */
const isStop = ({ event, parent }: CodexCall): boolean =>
  event === 'Stop' || (event === 'SubagentStop' && parent !== null);

function read(body: unknown, given: string | undefined): CodexCall {
  const { session_id: session, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = eventOf(hook_event_name, given, title);
  const agent = rest.agent_id || childInTranscript(rest.transcript_path, session);
  if (!agent) return { ...rest, event, worker: session, parent: null };
  return { ...rest, event, worker: toId(`${session}-${agent}`), parent: session, kind: rest.agent_type };
}

/**
 * A sub-agent's prompts are told as prompts too, and nobody typed them. Where a call names no sub-agent, the file that
 * it is written to does: a session's own ends in the session's id.
 */
function childInTranscript(path: string | undefined, session: string): string | undefined {
  const [, id] = /rollout-.{19}-([0-9a-f-]{36})\.jsonl$/.exec(path ?? '') ?? [];
  return id === session ? undefined : id;
}

// --- tools and the plan ---------------------------------------------------------------------------------------

function used(call: CodexCall, known: KnownWorker): readonly Said[] {
  const tool = toolUsed({ tool: call.tool_name, ok: true, id: call.tool_use_id, files: patched(call) }, call, known);
  const change = planChange(call);
  return change === null ? [tool] : [tool, change];
}

/** The files that a patch names in its head lines. */
function patched({ tool_name: tool, tool_input: input }: CodexCall): string[] {
  const patch = input?.command ?? input?.input;
  if (tool !== 'apply_patch' || typeof patch !== 'string') return [];
  return [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm)].map(([, file]) =>
    (file ?? '').trim(),
  );
}

const answered = z.object({
  goal: z.object({ objective: z.string().optional().catch(undefined), status: z.string() }),
});
const listed = z.object({ plan: z.array(z.object({ step: z.string(), status: z.string() })) });

/** A goal is one step. Versions that still have `update_plan` give the whole list. */
function planChange({ tool_name: tool, tool_input: input, tool_response: response }: CodexCall): PlanChange | null {
  if (tool === 'update_plan') {
    const asked = listed.safeParse(input);
    return asked.success ? wholePlan(asked.data.plan.map(({ step, status }) => ({ title: step, status }))) : null;
  }
  if (tool !== 'create_goal' && tool !== 'update_goal' && tool !== 'get_goal') return null;
  const answer = answered.safeParse(typeof response === 'string' ? parsed(response) : response);
  if (!answer.success) return null;
  const { objective, status } = answer.data.goal;
  return oneStep('goal', { title: objective, status: goalStatuses.get(status) ?? status });
}

const goalStatuses: ReadonlyMap<string, string> = new Map([
  ['active', 'in_progress'],
  ['complete', 'completed'],
]);

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
