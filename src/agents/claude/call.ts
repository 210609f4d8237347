/**
 * Claude Code's hook JSON, read: whose call it is and what of it we use. Seen with 2.1.329. All but the session and
 * the event's name may be missing or of another shape without harm: a newer version that changes a field we can do
 * without must not cost the call, since Claude Code takes an error for "go on".
 */
import { z } from 'zod';
import { idSchema } from '../../../machines/index.ts';
import { nameCharsMax } from '../shared/entry-drafts.ts';
import { eventOf, fields, flag, readBody, text } from '../shared/reader.ts';
import { toId } from '../shared/safe-id.ts';
import { firstChars } from '../shared/text.ts';

/** Many of them make many entries: each is kept short. */
const shortName = z.string().transform((name) => firstChars(name, nameCharsMax));
const backgroundTask = z.object({
  id: z.string().min(1).pipe(shortName),
  type: shortName.optional().catch(undefined),
  status: text,
});

const bodySchema = z.object({
  session_id: idSchema,
  hook_event_name: text,
  cwd: text,
  /** SessionStart: `startup`, `resume`, `clear` or `compact`. */
  source: text,
  prompt: text,
  tool_name: text,
  tool_input: fields,
  tool_response: fields,
  tool_use_id: text,
  last_assistant_message: text,
  background_tasks: z.array(backgroundTask).optional().catch(undefined),
  agent_id: text,
  agent_type: text,
  reason: text,
  /** StopFailure: 2.1.329 says `error`; other descriptions `error_type`. */
  error: text,
  error_type: text,
  /** MessageDisplay: false while the message still grows. */
  final: flag,
});

export type ClaudeCall = Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'> & {
  readonly event: string;
  /** The session, or the sub-agent within it. */
  readonly worker: string;
  /** The session of a sub-agent; null: the call is the session's own. */
  readonly parent: string | null;
  readonly kind: string | undefined;
  /** Compaction runs as a sub-agent without a type and reports its own stop: nobody's work. */
  readonly ofCompaction: boolean;
};

const title = 'Claude Code';

/** @throws AppError input.bad */
export function readClaude(body: unknown, given: string | undefined): ClaudeCall {
  const { session_id: session, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = eventOf(hook_event_name, given, title);
  const agent = rest.agent_id ?? '';
  const kind = rest.agent_type;
  if (agent === '') return { ...rest, event, kind, worker: session, parent: null, ofCompaction: false };
  const worker = toId(`${session}-${agent}`);
  return { ...rest, event, kind, worker, parent: session, ofCompaction: kind === '' };
}
