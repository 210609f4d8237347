/**
 * Gemini CLI: its hook calls to our entries and our question, our decision to its JSON. Seen with 0.61.0. Pure. A block
 * comes back as `BeforeAgent` with our words as the prompt, and `stop_hook_active` is false again after any tool: our
 * own count is the only guard against a loop.
 */
import { z } from 'zod';
import type { KnownWorker } from '../shared/adapter.ts';
import { blockWords, completeWords, waitNotice } from '../shared/block-text.ts';
import {
  attemptOf,
  type Caller,
  inputRequested,
  promptSubmitted,
  resumed,
  type Said,
  sessionEnded,
  sessionStarted,
  toolUsed,
} from '../shared/entry-drafts.ts';
import { wholePlan } from '../shared/plan-entry.ts';
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

const name = 'gemini';
const title = 'Gemini CLI';

const bodySchema = z.object({
  session_id: sessionName,
  hook_event_name: text,
  cwd: text,
  source: text,
  prompt: text,
  prompt_response: text,
  tool_name: text,
  tool_input: fields,
  tool_response: fields,
  notification_type: text,
  message: text,
  reason: text,
});
type GeminiCall = Caller & Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'>;

const nothing: Row<GeminiCall> = () => [];

const rows: Table<GeminiCall> = new Map<string, Row<GeminiCall>>([
  ['SessionStart', (call, known) => sessionStarted(name, call, known)],
  ['BeforeAgent', (call, known) => [promptSubmitted(call.prompt ?? '', known)]],
  ['AfterTool', (call, known) => [...resumed(known), ...used(call, known)]],
  ['AfterAgent', (_call, known) => resumed(known)],
  ['Notification', (call) => (isPermission(call) ? [inputRequested(call.message, 'permission')] : [])],
  // Told around each call of the model, the answer once for each piece of it: `BeforeTool` says as much.
  ['PreCompress', nothing],
  ['BeforeModel', nothing],
  ['BeforeToolSelection', nothing],
  ['AfterModel', nothing],
  ['SessionEnd', (call, known) => sessionEnded(call.reason, known)],
]);

const gemini: Agent<GeminiCall> = {
  name,
  read,
  rows,
  stop: (call) => (call.event === 'AfterAgent' ? attemptOf(call.prompt_response) : null),
  look: (call) => (call.event === 'AfterTool' ? 'complete-seldom' : null),
  isEnd: ({ event }) => event === 'SessionEnd',
  answer: (call, decision, look) => {
    if (look === 'complete-seldom') return { continue: false, stopReason: completeWords };
    if (call.event !== 'AfterAgent') return null;
    if (decision.decision === 'block') return { decision: 'block', reason: blockWords(decision) };
    return waitNotice(call, decision);
  },
};
export const readGeminiHook = createReader(gemini);

function read(body: unknown, given: string | undefined): GeminiCall {
  const { session_id: worker, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  return { ...rest, event: eventOf(hook_event_name, given, title), worker, parent: null };
}

const isPermission = (call: GeminiCall): boolean => call.notification_type === 'ToolPermission';

const todos = z.object({ todos: z.array(z.object({ description: z.string(), status: z.string() })) });
const writers: ReadonlySet<string | undefined> = new Set(['write_file', 'replace']);

function used(call: GeminiCall, known: KnownWorker): readonly Said[] {
  const { tool_name: tool, tool_input: input, tool_response: response } = call;
  const ok = response?.error === undefined || response.error === null;
  const files = ok && writers.has(tool) ? [input?.file_path] : [];
  const use = toolUsed({ tool, ok, files }, call, known);
  const plan = ok && tool === 'write_todos' ? todos.safeParse(input) : null;
  if (!plan?.success) return [use];
  return [use, wholePlan(plan.data.todos.map(({ description, status }) => ({ title: description, status })))];
}
