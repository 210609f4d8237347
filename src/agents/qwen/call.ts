/**
 * Reads Qwen Code's hook JSON, which is Claude Code's with names of its own. Seen with 0.24.4. Everything but the session
 * and the name of the event may be missing or of another type: Qwen Code takes an error for "continue".
 */
import { z } from 'zod';
import { fields, readBody, readEvent, sessionName, text } from '../shared/adapter.ts';
import { type BackgroundTask, shortName } from '../shared/background-work.ts';
import { callerOf } from '../shared/claude-calls.ts';
import type { BaseCall } from '../shared/entry-drafts.ts';

const backgroundTask = z
  .object({ id: z.string().min(1).pipe(shortName), agent_type: shortName.optional().catch(undefined), status: text })
  .transform(({ id, agent_type: kind, status }): BackgroundTask => ({ id, kind, status }));

const bodySchema = z.object({
  session_id: sessionName,
  hook_event_name: text,
  cwd: text,
  /** SessionStart: `startup`, `resume`, `clear` or `compact`. */
  source: text,
  /** Empty where only the results of tools go to the model. */
  prompt: text,
  tool_name: text,
  tool_input: fields,
  tool_use_id: text,
  last_assistant_message: text,
  background_tasks: z.array(backgroundTask).optional().catch(undefined),
  agent_id: text,
  agent_type: text,
  reason: text,
  /** StopFailure: `rate_limit` and others. */
  error: text,
  /** TodoCompleted: `validation` before the list is written, `postWrite` after it. */
  phase: text,
});

export type QwenCall = BaseCall & Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'>;

export const title = 'Qwen Code';

/** @throws AppError input.bad */
export function readQwen(body: unknown, eventInUrl: string | undefined): QwenCall {
  const { session_id: session, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = readEvent(hook_event_name, eventInUrl, title);
  return { ...rest, ...callerOf(session, rest.agent_id), event, kind: rest.agent_type };
}
