/**
 * Reads Claude Code's hook JSON: whose call it is, and the fields that we use. Seen with 2.1.330. Everything but the
 * session and the name of the event may be missing or of another type. A newer version that changes an optional field
 * must not cost the whole call, since Claude Code takes an error for "continue".
 */
import { z } from 'zod';
import { idSchema } from '../../../machines/index.ts';
import { fields, flag, readBody, readEvent, text } from '../shared/adapter.ts';
import { type BackgroundTask, shortName } from '../shared/background-work.ts';
import { callerOf } from '../shared/claude-calls.ts';
import type { BaseCall } from '../shared/entry-drafts.ts';

const backgroundTask = z
  .object({ id: z.string().min(1).pipe(shortName), type: shortName.optional().catch(undefined), status: text })
  .transform(({ id, type: kind, status }): BackgroundTask => ({ id, kind, status }));

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
  /** StopFailure: 2.1.329 sends `error`, other descriptions name `error_type`. */
  error: text,
  error_type: text,
  /** StopFailure: what the model's API said; `last_assistant_message` is what the user is shown. */
  error_details: text,
  /** MessageDisplay: false while the message still grows. */
  final: flag,
});

export type ClaudeCall = BaseCall &
  Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'> & {
    /** Compaction runs as a sub-agent without a type and reports its own stop. It is no worker. */
    readonly isCompaction: boolean;
  };

const title = 'Claude Code';

/** @throws AppError input.bad */
export function readClaude(body: unknown, eventInUrl: string | undefined): ClaudeCall {
  const { session_id: session, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = readEvent(hook_event_name, eventInUrl, title);
  const caller = callerOf(session, rest.agent_id);
  const kind = rest.agent_type;
  return { event, kind, isCompaction: caller.parent !== null && kind === '', ...caller, ...rest };
}
