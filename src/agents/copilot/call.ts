/**
 * Copilot CLI's hook JSON, read. Seen with 1.0.102. A hook that is registered as `agentStop` gets camelCase keys and no
 * event name; as `Stop`, snake_case and the name. Both come out of here the same.
 */
import { z } from 'zod';
import type { Caller } from '../shared/entry-drafts.ts';
import { eventOf, fields, readBody, sessionName, text } from '../shared/reader.ts';
import { toId } from '../shared/safe-id.ts';

/** By the camelCase names. */
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
export type CopilotCall = Caller & Omit<Body, 'sessionId' | 'hookEventName' | 'hookName'>;

const title = 'Copilot CLI';

const names: ReadonlyMap<string, string> = new Map([
  ['Stop', 'agentStop'],
  ['UserPromptSubmit', 'userPromptSubmitted'],
]);

/** @throws AppError input.bad */
export function readCopilot(body: unknown, given: string | undefined): CopilotCall {
  const { sessionId, hookEventName, hookName, ...rest } = readBody(bodySchema, inCamelCase(body), title);
  const event = canonical(eventOf(hookEventName || hookName, given, title));
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
 * A sub-agent's own calls name it as their session, its start and end name the parent's: an id that is unique by itself
 * is the worker's either way. One that is not (a name, say) would meet another session's.
 */
function childId(parent: string, agent: string): string {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(agent) ? agent : toId(`${parent}-${agent}`);
}

/** The keys of the other form, and arguments that older versions give as a text of JSON. */
function inCamelCase(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const entries = Object.entries(body).map(([key, value]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  const { toolInput, ...rest } = Object.fromEntries(entries) as Record<string, unknown>;
  const toolArgs = rest.toolArgs ?? toolInput;
  return { ...rest, toolArgs: typeof toolArgs === 'string' ? parsed(toolArgs) : toolArgs };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
