/**
 * Reads Copilot CLI's hook JSON. Seen with 1.0.102. A hook that is registered as `agentStop` gets camelCase keys and no
 * event name; as `Stop`, snake_case keys and the name. Both are read into the same form.
 */
import { z } from 'zod';
import { tryJson } from '../../try-json.ts';
import { fields, readBody, readEvent, sessionName, text } from '../shared/adapter.ts';
import type { BaseCall } from '../shared/entry-drafts.ts';
import { toId } from '../shared/safe-id.ts';

/** With the camelCase keys. */
const bodySchema = z.object({
  sessionId: sessionName,
  hookEventName: text,
  hookName: text,
  cwd: text,
  source: text,
  prompt: text,
  stopReason: text,
  toolName: text,
  toolArgs: fields,
  toolResult: fields,
  agentId: text,
  agentType: text,
  agentName: text,
  parentAgentId: text,
  response: text,
  notificationType: text,
  message: text,
  reason: text,
});
type Body = z.infer<typeof bodySchema>;
export type CopilotCall = BaseCall & Omit<Body, 'sessionId' | 'hookEventName' | 'hookName'>;

const title = 'Copilot CLI';

const names: ReadonlyMap<string, string> = new Map([
  ['Stop', 'agentStop'],
  ['UserPromptSubmit', 'userPromptSubmitted'],
]);

/** @throws AppError input.bad */
export function readCopilot(body: unknown, eventInUrl: string | undefined): CopilotCall {
  const { sessionId, hookEventName, hookName, ...rest } = readBody(bodySchema, inCamelCase(body), title);
  const event = canonical(readEvent(hookEventName || hookName, eventInUrl, title));
  const { agentId } = rest;
  if (!agentId) return { ...rest, event, worker: sessionId, parent: null };
  const parent = rest.parentAgentId ? toId(rest.parentAgentId) : sessionId;
  return { ...rest, event, worker: childId(parent, agentId), parent, kind: rest.agentType };
}

/** `Stop` is `agentStop`, `PostToolUse` is `postToolUse`. */
function canonical(event: string): string {
  return names.get(event) ?? event.charAt(0).toLowerCase() + event.slice(1);
}

/**
 * A sub-agent's own calls name the sub-agent as their session, its start and end name the parent's session. A UUID is
 * therefore the worker's id in both. Any other id (a name, for example) could occur in two sessions.
 */
function childId(parent: string, agent: string): string {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(agent) ? agent : toId(`${parent}-${agent}`);
}

/** Converts the keys of the other form, and the arguments that older versions send as a JSON string. */
function inCamelCase(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const entries = Object.entries(body).map(([key, value]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  const { toolInput, ...rest } = Object.fromEntries(entries) as Record<string, unknown>;
  const toolArgs = rest.toolArgs ?? toolInput;
  return { ...rest, toolArgs: typeof toolArgs === 'string' ? tryJson(toolArgs) : toolArgs };
}
