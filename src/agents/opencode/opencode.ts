/**
 * OpenCode: what its plugin (opencode/plugin.ts) posts to our entries and our question. Seen with 1.18.33. Pure. It has
 * no hook that could refuse a stop: the plugin asks when the root session is idle, and a block is a new prompt, which
 * comes back as a `chat.message`. One that waits for a person is told so, and prompts itself when he has spoken. Sub-agents are sessions of their own, with a parent, and are not asked.
 */
import { z } from 'zod';
import type { KnownWorker } from '../shared/adapter.ts';
import { blockWords } from '../shared/block-text.ts';
import {
  attemptOf,
  type Caller,
  heartbeat,
  inputRequested,
  promptSubmitted,
  registration,
  resumed,
  type Said,
  sessionEnded,
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

const name = 'opencode';
const title = 'OpenCode';

const todo = z.object({ content: z.string(), status: z.string() });
const info = z.object({ id: text, parentID: text, directory: text }).optional().catch(undefined);

/** An event of OpenCode's bus has a type and properties, a call of one of its hooks an input and an output. */
const bodySchema = z.object({
  type: text,
  properties: z
    .object({
      sessionID: text,
      info,
      todos: z.array(todo).optional().catch(undefined),
      error: z.object({ name: text, data: fields }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  input: z.object({ sessionID: text, tool: text, callID: text, args: fields }).optional().catch(undefined),
  output: z
    .object({
      metadata: fields,
      parts: z
        .array(z.object({ type: text, text }))
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  /** The plugin's own: where it runs, and the answer that the turn ended with. */
  directory: text,
  lastMessage: text,
});
type Body = z.infer<typeof bodySchema>;
type OpencodeCall = Caller & Pick<Body, 'properties' | 'input' | 'output' | 'lastMessage'>;

const nothing: Row<OpencodeCall> = () => [];

const rows: Table<OpencodeCall> = new Map<string, Row<OpencodeCall>>([
  ['session.created', (call, known) => (isNew(call, known) ? [registration(name, call, known)] : [heartbeat])],
  ['chat.message', prompted],
  ['tool.execute.after', (call, known) => [...resumed(known), used(call, known)]],
  ['todo.updated', planned],
  ['permission.asked', () => [inputRequested(undefined, 'permission')]],
  ['permission.updated', () => [inputRequested(undefined, 'permission')]],
  ['permission.replied', (_call, known) => (known.awaitsInput ? [{ type: 'input.received', data: {} }] : [heartbeat])],
  ['session.error', (call) => (isUsageLimit(call) ? [{ type: 'limit.reached', data: {} }] : [heartbeat])],
  ['session.idle', (_call, known) => (known.parent === null ? resumed(known) : sessionEnded('idle', known))],
  ['session.deleted', (_call, known) => sessionEnded('deleted', known)],
  // Many of these make one answer.
  ['message.part.delta', nothing],
  ['message.part.updated', nothing],
  ['message.updated', nothing],
  ['session.updated', nothing],
  ['session.status', nothing],
]);

const opencode: Agent<OpencodeCall> = {
  name,
  read,
  rows,
  stop: (call, known) => (isStop(call) && known.parent === null ? attemptOf(call.lastMessage) : null),
  isEnd: ({ event }) => event === 'session.deleted',
  answer: (call, decision) => {
    if (!isStop(call)) return null;
    if (decision.decision === 'block') return { decision: 'block', reason: blockWords(decision) };
    return decision.action === 'escalate' ? { decision: 'allow', waits: true } : null;
  },
};
export const readOpencodeHook = createReader(opencode);

const isNew = (call: OpencodeCall, known: KnownWorker): boolean =>
  !known.registered || (call.parent !== null && known.parent === null);
const isStop = ({ event }: OpencodeCall): boolean => event === 'session.idle';

function read(body: unknown, given: string | undefined): OpencodeCall {
  const { type, directory, ...rest } = readBody(bodySchema, body, title);
  const { properties, input } = rest;
  const event = eventOf(type, given, title);
  const session = { sessionID: properties?.sessionID || properties?.info?.id || input?.sessionID };
  const { sessionID: worker } = readBody(z.object({ sessionID: sessionName }), session, title);
  // A message has an info too, of another kind.
  const about = event.startsWith('session.') ? properties?.info : undefined;
  const parent = about?.parentID ? readBody(sessionName, about.parentID, title) : null;
  return { ...rest, event, worker, parent, cwd: about?.directory ?? directory };
}

/** A sub-agent's prompt is its parent's. */
function prompted({ output }: OpencodeCall, known: KnownWorker): readonly Said[] {
  if (known.parent !== null) return [heartbeat];
  const texts = (output?.parts ?? []).filter((part) => part.type === 'text').map((part) => part.text ?? '');
  return [promptSubmitted(texts.join('\n'), known)];
}

function planned({ properties }: OpencodeCall): readonly Said[] {
  const todos = properties?.todos;
  if (todos === undefined) return [heartbeat];
  return [wholePlan(todos.map(({ content, status }) => ({ title: content, status })))];
}

const writers: ReadonlySet<string | undefined> = new Set(['write', 'edit', 'multiedit']);

function used(call: OpencodeCall, known: KnownWorker): Said {
  const { tool, callID: id, args } = call.input ?? {};
  const exit = call.output?.metadata?.exit;
  const ok = typeof exit !== 'number' || exit === 0;
  return toolUsed({ tool, ok, id, files: ok && writers.has(tool) ? [args?.filePath] : [] }, call, known);
}

const isUsageLimit = ({ properties }: OpencodeCall): boolean => properties?.error?.data?.statusCode === 429;
