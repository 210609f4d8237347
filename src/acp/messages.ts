/**
 * The part of the Agent Client Protocol (versions 1 and 2, agentclientprotocol.com) that we read. Agents and editors
 * may be newer than we are: an optional field of an unexpected type counts as missing, and an unreadable message is
 * only forwarded.
 */
import { AGENT_METHODS, CLIENT_METHODS, PROTOCOL_METHODS } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { fields, text } from '../agents/agent.ts';
import { limitEndIn, mentionsLimit, toLimitEnd } from '../agents/shared/limit-end.ts';
import { tryJson } from '../text/json-text.ts';

/** The newest version that we support. Version 2 is a draft; editor and agent agree on one of the two. */
export const protocolVersion = 2;

export const methods = {
  initialize: AGENT_METHODS.initialize,
  newSession: AGENT_METHODS.session_new,
  loadSession: AGENT_METHODS.session_load,
  resumeSession: AGENT_METHODS.session_resume,
  /** Not stable yet, but agents implement it. */
  forkSession: 'session/fork',
  closeSession: AGENT_METHODS.session_close,
  deleteSession: AGENT_METHODS.session_delete,
  /** Version 1 only. */
  setMode: AGENT_METHODS.session_set_mode,
  setOption: AGENT_METHODS.session_set_config_option,
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
  /** Undefined unless the response is an error. */
  readonly error: unknown;
  /** The whole message, for forwarding under another id. */
  readonly whole: object;
};

const rpcSchema = z.looseObject({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
});

/** Returns null for anything that is not JSON-RPC, such as a log line that an agent prints on stdout. */
export function readMessage(line: Buffer): Request | Notification | Response | null {
  const read = rpcSchema.safeParse(tryJson(line.toString()));
  if (!read.success) return null;
  const { id, method, params, result, error } = read.data;
  if (method === undefined) return id === undefined ? null : { kind: 'response', id, result, error, whole: read.data };
  return id === undefined ? { kind: 'notification', method, params } : { kind: 'request', id, method, params };
}

/** A map key that keeps `1` and `"1"` apart. */
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
  /** Version 1. */
  agentInfo: z.object({ name: text, version: text }).optional().catch(undefined),
  /** Version 2. */
  info: z.object({ name: text, version: text }).optional().catch(undefined),
});
const modes = z.object({ currentModeId: text }).optional().catch(undefined);
/** The settings of a session. One of the category `mode` is what version 1 calls its mode. */
const configOptions = z
  .array(z.object({ category: text, currentValue: text }))
  .optional()
  .catch(undefined);
export const withOptions = z.object({ configOptions });
export const sessionStarted = z.object({ sessionId: session.optional().catch(undefined), modes, configOptions });
/** The mode that a session's settings name. */
export const modeIn = ({ configOptions = [] }: z.infer<typeof withOptions>): string | undefined =>
  configOptions.find(({ category }) => category === 'mode')?.currentValue;

const count = z.number().nonnegative().optional().catch(undefined);
const tokenUsage = z.object({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: count,
  cachedWriteTokens: count,
  totalTokens: count,
});
export type TokenUsage = z.infer<typeof tokenUsage>;
/** Usage of a whole turn as reported by Gemini CLI (seen with 0.61.0). */
const quota = z.object({ quota: z.object({ token_count: z.object({ input_tokens: count, output_tokens: count }) }) });
export const turnEnded = z.object({
  stopReason: z.string(),
  usage: tokenUsage.optional().catch(undefined),
  _meta: quota.optional().catch(undefined),
});
/** Usage of one model request as reported by Qwen Code (seen with 0.24.4). */
export const chunkUsage = z.object({ _meta: z.object({ usage: tokenUsage }) });

/** A diff names its file in version 1, and its changes in version 2. */
const content = z.object({
  type: text,
  path: text,
  changes: z
    .array(z.object({ path: text, oldPath: text }))
    .optional()
    .catch(undefined),
});
const paths = z.array(content).optional().catch(undefined);
export const toolCall = z.object({
  toolCallId: z.string(),
  title: text,
  name: text,
  kind: text,
  status: text,
  content: paths,
  locations: paths,
  rawInput: fields,
  /** The tool's raw result; its form depends on the tool. */
  rawOutput: z.unknown().optional(),
  _meta: z
    .object({ claudeCode: z.object({ toolName: text }).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
export type ToolCall = z.infer<typeof toolCall>;
/** Version 2: adds to the content of a tool call. */
export const toolContentChunk = z.object({ toolCallId: z.string(), content });

export const sessionUpdate = z.object({
  sessionId: session,
  update: z.looseObject({ sessionUpdate: z.string() }),
});
export const messageChunk = z.object({
  content: z.object({ type: z.literal('text'), text: z.string() }),
  /** Required by version 2. */
  messageId: text,
});
/** A whole message of version 2. */
export const wholeMessage = z.object({ messageId: z.string(), content: z.array(z.object({ type: text, text })) });
export const planUpdate = z.object({ entries: z.array(z.unknown()) });
/** One of a session's plans in version 2. */
export const namedPlan = z.object({ plan: z.object({ planId: z.string(), entries: z.array(z.unknown()) }) });
export const removedPlan = z.object({ planId: z.string() });
export const modeUpdate = z.object({ currentModeId: z.string() });
/**
 * Codex ends a turn that failed with `end_turn` too, and reports that its thread failed (seen with codex-acp 2.6.0).
 */
export const failedThread = z.object({
  _meta: z.object({ codex: z.object({ threadStatus: z.object({ type: z.literal('systemError') }) }) }),
});
export const usageUpdate = z.object({ cost: z.object({ amount: z.number().nonnegative(), currency: z.string() }) });

const option = z.object({ optionId: z.string(), kind: text });
const options = z.array(option).catch([]);
/** Version 2 names what the permission is about; anything that we do not know is only a title. */
const subject = z.union([
  z.object({ toolCall }),
  z.object({ command: z.string() }).transform(({ command }) => ({
    toolCall: toolCall.parse({ toolCallId: '', kind: 'execute', rawInput: { command } }),
  })),
]);
export const permissionParams = z.union([
  z.object({ sessionId: session, toolCall, options }),
  z
    .object({ sessionId: session, title: z.string(), subject: z.unknown(), options })
    .transform(({ sessionId, title, subject: about, options: offered }) => {
      const found = subject.safeParse(about).data?.toolCall ?? toolCall.parse({ toolCallId: '' });
      return { sessionId, toolCall: { ...found, title }, options: offered };
    }),
]);
export type PermissionOption = z.infer<typeof option>;
export const elicitationParams = z.object({ sessionId: session, message: text });

const stateUpdate = z.object({
  sessionUpdate: z.literal('state_update'),
  state: z.string(),
  stopReason: text,
  error: z.unknown().optional(),
  usage: tokenUsage.optional().catch(undefined),
});
export type StateUpdate = z.infer<typeof stateUpdate>;
/** Version 2: reads the state of a session. Returns null for any other update. */
export const readState = (params: unknown): StateUpdate | null =>
  z.object({ update: stateUpdate }).safeParse(params).data?.update ?? null;

/** The forms in which agents mark a usage limit in the data of an error. */
const limitError = z.object({
  data: z.union([
    z.object({ statusCode: z.literal(429) }),
    z.object({ status: z.literal(429) }),
    z.object({ code: z.literal(429) }),
    z.object({ errorKind: z.literal('rate_limit') }),
    z.object({ codexErrorInfo: z.enum(['usageLimitExceeded', 'rateLimitExceeded']) }),
    // `{ "responseTooManyFailedAttempts": { "httpStatusCode": 429 } }`
    z.object({ codexErrorInfo: z.record(z.string(), z.object({ httpStatusCode: z.literal(429) })) }),
  ]),
});
export const isLimitError = (error: unknown): boolean =>
  limitError.safeParse(error).success ||
  z.object({ code: z.literal(429) }).safeParse(error).success ||
  // Some agents report the limit only in the error's text.
  mentionsLimit(wordsOf(error));

const wordsOf = (error: unknown): string => {
  const { details, message } = limitTimes.safeParse(error).data?.data ?? {};
  return [limitText.safeParse(error).data?.message, message, details].filter((words) => words !== undefined).join('\n');
};

const limitText = z.object({ message: text });
const limitTimes = z.object({
  data: z.object({ resetsAt: count, retryAfter: count, retry_after: count, details: text, message: text }),
});

/**
 * Returns when a usage limit ends as an ISO time, from the error's data (seconds from now, or since the epoch) or its
 * text; null if it does not say.
 */
export function limitEndOf(error: unknown, nowMs: number): string | null {
  const { resetsAt, retryAfter, retry_after } = limitTimes.safeParse(error).data?.data ?? {};
  const afterSeconds = retryAfter ?? retry_after;
  const endMs =
    resetsAt !== undefined ? resetsAt * 1_000 : afterSeconds === undefined ? null : nowMs + afterSeconds * 1_000;
  return toLimitEnd(endMs, nowMs) ?? limitEndIn(wordsOf(error), nowMs);
}

// --- what we send ---------------------------------------------------------------------------------------------

const notification = (method: string, params: object): object => ({ jsonrpc: '2.0', method, params });

const update = (sessionId: string, fields: object): object =>
  notification(methods.update, { sessionId, update: fields });

/** Creates an update that the editor shows as text of the agent. @param messageId required by version 2 */
export const agentText = (sessionId: string, words: string, messageId?: string): object =>
  update(sessionId, {
    sessionUpdate: 'agent_message_chunk',
    ...(messageId !== undefined && { messageId }),
    content: { type: 'text', text: words },
  });

/** Version 2: the person's message, as the agent would repeat it. */
export const userText = (sessionId: string, words: string, messageId: string): object =>
  update(sessionId, { sessionUpdate: 'user_message', messageId, content: [{ type: 'text', text: words }] });

/** Version 2: a state of the session, as the agent would report it. */
export const stateMessage = (
  sessionId: string,
  state: { readonly state: string; readonly stopReason?: string },
): object => update(sessionId, { sessionUpdate: 'state_update', ...state });

export const promptRequest = (id: string, sessionId: string, words: string): object => ({
  jsonrpc: '2.0',
  id,
  method: methods.prompt,
  params: { sessionId, prompt: [{ type: 'text', text: words }] },
});

export const resultOf = (id: RpcId, result: object): object => ({ jsonrpc: '2.0', id, result });

/** Cancels the agent's turn, as an editor would. */
export const cancelSession = (sessionId: string): object => notification(methods.cancel, { sessionId });

export const cancelOf = (requestId: RpcId): object => notification(methods.cancelRequest, { requestId });
