/**
 * Cursor: its hook calls to our entries and our question, our decision to its JSON. From its documentation
 * (cursor.com/docs/hooks); not run here. Pure. Its stop hook cannot refuse the stop: it sends the next prompt, at most
 * `loop_limit` times (5 unless the settings say otherwise).
 */
import { z } from 'zod';
import type { KnownWorker } from '../shared/adapter.ts';
import { blockWords } from '../shared/block-text.ts';
import {
  attemptOf,
  type Caller,
  heartbeat,
  promptSubmitted,
  registration,
  resumed,
  type Said,
  sessionEnded,
  toolUsed,
} from '../shared/entry-drafts.ts';
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

const name = 'cursor';
const title = 'Cursor';

const bodySchema = z.object({
  conversation_id: sessionName,
  hook_event_name: text,
  workspace_roots: z.array(z.string()).optional().catch(undefined),
  prompt: text,
  status: text,
  reason: text,
  tool_name: text,
  tool_input: fields,
  tool_use_id: text,
  file_path: text,
  subagent_id: text,
  subagent_type: text,
  summary: text,
});
type CursorCall = Caller & Omit<z.infer<typeof bodySchema>, 'conversation_id' | 'hook_event_name'>;

const rows: Table<CursorCall> = new Map<string, Row<CursorCall>>([
  ['sessionStart', (call, known) => (known.registered ? [heartbeat] : [registration(name, call, known)])],
  ['beforeSubmitPrompt', (call, known) => [promptSubmitted(call.prompt ?? '', known)]],
  ['postToolUse', (call, known) => [...resumed(known), used(call, true, known)]],
  ['postToolUseFailure', (call, known) => [...resumed(known), used(call, false, known)]],
  ['afterFileEdit', (call, known) => [edited(call, known)]],
  ['stop', (_call, known) => resumed(known)],
  ['subagentStart', (call, known) => (call.parent === null ? [heartbeat] : [registration(name, call, known)])],
  ['sessionEnd', (call, known) => sessionEnded(call.reason, known)],
]);

const cursor: Agent<CursorCall> = {
  name,
  read,
  rows,
  stop: (call) => (isStop(call) ? attemptOf(call.summary, reasonOf(call.status)) : null),
  isEnd: ({ event }) => event === 'sessionEnd',
  answer: (call, decision) =>
    isStop(call) && decision.decision === 'block' ? { followup_message: blockWords(decision) } : null,
};
export const readCursorHook = createReader(cursor);

function read(body: unknown, given: string | undefined): CursorCall {
  const { conversation_id: conversation, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = eventOf(hook_event_name, given, title);
  const call = { ...rest, event, cwd: rest.workspace_roots?.[0] };
  if (!rest.subagent_id) return { ...call, worker: conversation, parent: null };
  const worker = toId(`${conversation}-${rest.subagent_id}`);
  return { ...call, worker, parent: conversation, kind: rest.subagent_type };
}

/**
 * A sub-agent that does not say which it is cannot be told from its parent, so its stop is nobody's. A turn that ended
 * by an error of the model is no wish to stop.
 */
const isStop = ({ event, parent, status }: CursorCall): boolean =>
  status !== 'error' && (event === 'stop' ? parent === null : event === 'subagentStop' && parent !== null);

const reasonOf = (status: string | undefined) => (status === 'aborted' ? 'user_interrupt' : 'end_turn');

function used(call: CursorCall, ok: boolean, known: KnownWorker): Said {
  return toolUsed({ tool: call.tool_name, ok, id: call.tool_use_id }, call, known);
}

/** Also told as a tool, but only here with the file. */
function edited(call: CursorCall, known: KnownWorker): Said {
  return toolUsed({ tool: 'edit', ok: true, files: [call.file_path] }, call, known);
}
