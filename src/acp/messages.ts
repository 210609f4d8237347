/**
 * The part of the Agent Client Protocol (version 1, agentclientprotocol.com) that we read. An optional field of an
 * unexpected type counts as missing, and a message that we cannot read is only passed on: agents and editors are newer
 * than we are.
 */
import { AGENT_METHODS, CLIENT_METHODS, PROTOCOL_METHODS } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { fields, text } from '../agents/agent.ts';
import { limitEndIn, tellsOfLimit, toEnd } from '../agents/shared/limit-end.ts';
import { tryJson } from '../text/json-text.ts';

/** The version whose turns we know. Under version 2 a turn does not end with the answer to its prompt. */
export const protocolVersion = 1;

export const methods = {
  initialize: AGENT_METHODS.initialize,
  newSession: AGENT_METHODS.session_new,
  loadSession: AGENT_METHODS.session_load,
  resumeSession: AGENT_METHODS.session_resume,
  /** Not stable yet, but agents have it. */
  forkSession: 'session/fork',
  closeSession: AGENT_METHODS.session_close,
  deleteSession: AGENT_METHODS.session_delete,
  setMode: AGENT_METHODS.session_set_mode,
  prompt: AGENT_METHODS.session_prompt,
  cancel: AGENT_METHODS.session_cancel,
  update: CLIENT_METHODS.session_update,
  permission: CLIENT_METHODS.session_request_permission,
  elicitation: CLIENT_METHODS.elicitation_create,
  cancelRequest: PROTOCOL_METHODS.cancel_request,
} as const;

export type RpcId = string | number | null;
export type Request = {
  readonly kind: 'request';
  readonly id: RpcId;
  readonly method: string;
  readonly params: unknown;
};
export type Notification = { readonly kind: 'notification'; readonly method: string; readonly params: unknown };
export type Response = {
  readonly kind: 'response';
  readonly id: RpcId;
  readonly result: unknown;
  /** It is undefined if the answer is no error. */
  readonly error: unknown;
  /** The whole message, for an answer that goes on under another id. */
  readonly whole: object;
};

const rpcSchema = z.looseObject({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
});

/** Returns null if it is no message of JSON-RPC, such as a log line that an agent prints on stdout. */
export function readMessage(line: Buffer): Request | Notification | Response | null {
  const read = rpcSchema.safeParse(tryJson(line.toString()));
  if (!read.success) return null;
  const { id, method, params, result, error } = read.data;
  if (method === undefined) return id === undefined ? null : { kind: 'response', id, result, error, whole: read.data };
  return id === undefined ? { kind: 'notification', method, params } : { kind: 'request', id, method, params };
}

/** `1` and `"1"` are two ids. */
export const keyOf = (id: RpcId): string => JSON.stringify(id);

// --- what editors send ----------------------------------------------------------------------------------------

const session = z.string().min(1).max(1_000);
export const inSession = z.object({ sessionId: session });
export const sessionStart = z.object({ sessionId: session.optional().catch(undefined), cwd: text });
export const promptParams = z.object({
  sessionId: session,
  prompt: z.array(z.object({ type: text, text })).catch([]),
});
export const setMode = z.object({ sessionId: session, modeId: z.string() });
export const cancelledRequest = z.object({ requestId: z.union([z.string(), z.number(), z.null()]) });

// --- what agents send -----------------------------------------------------------------------------------------

export const initialized = z.object({
  protocolVersion: z.number().optional().catch(undefined),
  agentInfo: z.object({ name: text, version: text }).optional().catch(undefined),
  authMethods: z
    .array(z.object({ id: text, name: text }))
    .optional()
    .catch(undefined),
});
const modes = z.object({ currentModeId: text }).optional().catch(undefined);
export const sessionStarted = z.object({ sessionId: session.optional().catch(undefined), modes });

const count = z.number().nonnegative().optional().catch(undefined);
const tokenUsage = z.object({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: count,
  cachedWriteTokens: count,
  totalTokens: count,
});
export type TokenUsage = z.infer<typeof tokenUsage>;
/** The usage of Gemini CLI in a whole turn. Seen with 0.61.0. */
const quota = z.object({ quota: z.object({ token_count: z.object({ input_tokens: count, output_tokens: count }) }) });
export const turnEnded = z.object({
  stopReason: z.string(),
  usage: tokenUsage.optional().catch(undefined),
  _meta: quota.optional().catch(undefined),
});
/** The usage of Qwen Code for one request to its model. Seen with 0.24.4. */
export const chunkUsage = z.object({ _meta: z.object({ usage: tokenUsage }) });

const paths = z
  .array(z.object({ type: text, path: text }))
  .optional()
  .catch(undefined);
export const toolCall = z.object({
  toolCallId: z.string(),
  title: text,
  name: text,
  kind: text,
  status: text,
  content: paths,
  locations: paths,
  rawInput: fields,
  /** The tool's own result, in any form. */
  rawOutput: z.unknown().optional(),
  _meta: z
    .object({ claudeCode: z.object({ toolName: text }).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
export type ToolCall = z.infer<typeof toolCall>;

export const sessionUpdate = z.object({
  sessionId: session,
  update: z.looseObject({ sessionUpdate: z.string() }),
});
export const messageChunk = z.object({ content: z.object({ type: z.literal('text'), text: z.string() }) });
export const planUpdate = z.object({ entries: z.array(z.unknown()) });
export const modeUpdate = z.object({ currentModeId: z.string() });
export const usageUpdate = z.object({ cost: z.object({ amount: z.number().nonnegative(), currency: z.string() }) });

const option = z.object({ optionId: z.string(), kind: text });
export const permissionParams = z.object({
  sessionId: session,
  toolCall,
  options: z.array(option).catch([]),
});
export type PermissionOption = z.infer<typeof option>;
export const elicitationParams = z.object({ sessionId: session, message: text });

/** Agents name a usage limit in the data of an error, each in its own way; these are the ways that say it as a value. */
const limitError = z.object({
  data: z.union([
    z.object({ statusCode: z.literal(429) }),
    z.object({ status: z.literal(429) }),
    z.object({ code: z.literal(429) }),
    z.object({ errorKind: z.literal('rate_limit') }),
  ]),
});
export const isLimitError = (error: unknown): boolean =>
  limitError.safeParse(error).success ||
  z.object({ code: z.literal(429) }).safeParse(error).success ||
  // An agent that names it in no value that we know may still say it in its words.
  tellsOfLimit(wordsOf(error));

const wordsOf = (error: unknown): string => {
  const { details, message } = limitTimes.safeParse(error).data?.data ?? {};
  return [limitText.safeParse(error).data?.message, message, details].filter((it) => it !== undefined).join('\n');
};

const limitText = z.object({ message: text });
const limitTimes = z.object({
  data: z.object({ resetsAt: count, retryAfter: count, retry_after: count, details: text, message: text }),
});

/** When a usage limit ends, by the error's data (seconds from now, or since the epoch) or its words; null: it does not say. */
export function limitEndOf(error: unknown, nowMs: number): string | null {
  const { resetsAt, retryAfter, retry_after } = limitTimes.safeParse(error).data?.data ?? {};
  const afterSeconds = retryAfter ?? retry_after;
  const endMs =
    resetsAt !== undefined ? resetsAt * 1_000 : afterSeconds === undefined ? null : nowMs + afterSeconds * 1_000;
  return toEnd(endMs, nowMs) ?? limitEndIn(wordsOf(error), nowMs);
}

// --- what we send ourselves -----------------------------------------------------------------------------------

const notification = (method: string, params: object): object => ({ jsonrpc: '2.0', method, params });

/** Makes an update that the editor shows as the agent's words. */
export const agentText = (sessionId: string, words: string): object =>
  notification(methods.update, {
    sessionId,
    update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } },
  });

export const promptRequest = (id: string, sessionId: string, words: string): object => ({
  jsonrpc: '2.0',
  id,
  method: methods.prompt,
  params: { sessionId, prompt: [{ type: 'text', text: words }] },
});

export const resultOf = (id: RpcId, result: object): object => ({ jsonrpc: '2.0', id, result });

/** Ends the agent's turn, as an editor would. */
export const cancelSession = (sessionId: string): object => notification(methods.cancel, { sessionId });

export const cancelOf = (requestId: RpcId): object => notification(methods.cancelRequest, { requestId });
