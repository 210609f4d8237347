/**
 * The MCP server: offers the tools to one connection (stdio) or one request (HTTP). It keeps no state, so any replica
 * can answer any call. Supports protocol 2026-07-28 and all earlier versions.
 */
import { randomBytes } from 'node:crypto';
import { type CallToolResult, type ListToolsResult, Server } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { describeIssues, isTooDeep, toIssues, tooDeepMessage } from '../../machines/index.ts';
import { createKeyedMutex, type KeyedMutex } from '../concurrency/keyed-mutex.ts';
import { AppError } from '../errors.ts';
import { version } from '../version.ts';
import type { ServicePort } from './nats-port.ts';
import { tools, toolsFor } from './tools/index.ts';
import type { Tool, ToolContext } from './tools/tool.ts';

export type McpOptions = {
  readonly port: ServicePort;
  /** The worker for calls that name none. */
  readonly worker?: string | null;
  /** Must be shared by all servers on the same port. */
  readonly mutex?: KeyedMutex;
  readonly newId?: () => string;
  /** Called when a call starts. The promise never rejects. */
  readonly onCall?: (call: Promise<unknown>) => void;
  /** Rewrites our command lines in error texts to what the user has to type. Default: unchanged. */
  readonly spell?: (text: string) => string;
  /** Called with unexpected errors, which are our own bugs. */
  readonly onBug: (error: unknown, tool: string) => void;
};

const instructions = `stopgate decides whether your work on a task is complete. The loop:
1. hook_register({ taskId, hookType: "default" }), then iteration_start({ taskId, maxIterations }).
2. Work. Then iteration_validate({ iterationId, agentOutput, validationResults }).
3. completionSignal CONTINUE: follow reason and nextPrompt, call iteration_next, and go to 2 with the new iterationId.
   COMPLETE: iteration_complete({ iterationId, completionPromise: "COMPLETE" }). ESCALATE: stop and tell a person the reason.
Write <promise>COMPLETE</promise> in agentOutput only when everything is done, <promise>BLOCKED</promise> if you are stuck.
checkpoint_create saves your progress, checkpoint_resume returns it in a later session; hooks survive too.
decide tells you whether you may stop; if it blocks, nextPrompt says what is missing.
docs_search answers how stopgate works and is configured.`;

export function createMcpServer(options: McpOptions): Server {
  const { port, worker = null, mutex = createKeyedMutex(), newId = shortId, onCall = () => {} } = options;
  // Not McpServer: its errors for bad input are hard to read, and it rebuilds all schemas per request.
  const server = new Server(
    { name: 'stopgate', title: 'stopgate', version: version() },
    { instructions, capabilities: { tools: {} } },
  );
  server.setRequestHandler('tools/list', () => listTools(port.operate !== undefined));
  server.setRequestHandler('tools/call', ({ params }) => {
    const answer = call({ port, worker, mutex, newId }, params.name, params.arguments ?? {}, options);
    onCall(answer);
    return answer;
  });
  return server;
}

const shortId = (): string => randomBytes(6).toString('hex');

async function call(
  context: ToolContext,
  name: string,
  input: unknown,
  { onBug, spell = String }: McpOptions,
): Promise<CallToolResult> {
  try {
    const tool = tools.get(name);
    const isOperator = context.port.operate !== undefined;
    if (tool === undefined || (tool.forOperators && !isOperator)) {
      const known = toolsFor(isOperator).map((available) => available.name);
      throw new AppError('input.bad', `there is no tool '${name}'; the tools are: ${known.join(', ')}`);
    }
    const result = await tool.run(context, readInput(tool, input));
    // Through JSON, so that undefined fields disappear.
    const text = JSON.stringify(result);
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
  } catch (error) {
    const isOurs = error instanceof AppError;
    if (!isOurs) onBug(error, name);
    const text = isOurs ? spell(describeError(error)) : 'internal error in stopgate; see its log';
    return { content: [{ type: 'text', text }], isError: true };
  }
}

/** @throws AppError input.bad */
function readInput(tool: Tool, input: unknown): never {
  if (isTooDeep(input)) throw new AppError('input.bad', tooDeepMessage);
  const parsed = tool.input.safeParse(input);
  if (parsed.success) return parsed.data as never;
  const fields = Object.entries(tool.input.shape).map(([name, schema]) =>
    (schema as z.ZodType).safeParse(undefined).success ? `${name}?` : name,
  );
  throw new AppError(
    'input.bad',
    `${describeIssues(toIssues(parsed.error, input))}. ${tool.name} takes: ${fields.join(', ')}`,
  );
}

/** Returns the message, followed by the next step for errors whose message names none. */
function describeError({ code, message }: AppError): string {
  switch (code) {
    case 'entry.large':
      return `${message} bytes. Nothing was stored; shorten draftContent, agentContext or metadata and call again`;
    case 'log.unavailable':
    case 'service.busy':
      return `${message}. Call again in a moment`;
    case 'log.lost':
    case 'rules.unknown':
      return `${message}. A person must check the service`;
    case 'service.unreachable':
      return `${message}. Then call again`;
    default:
      return message;
  }
}

const lists = new Map<boolean, ListToolsResult>();

/** Lists the tools for operators or for everybody else. Each list is created once. */
function listTools(isOperator: boolean): ListToolsResult {
  const known = lists.get(isOperator);
  if (known !== undefined) return known;
  const listed: ListToolsResult = {
    tools: toolsFor(isOperator).map(({ name, title, description, input, output, annotations }) => ({
      name,
      title,
      description,
      annotations,
      inputSchema: toJsonSchema(input, 'input') as ListToolsResult['tools'][number]['inputSchema'],
      outputSchema: toJsonSchema(output, 'output') as NonNullable<ListToolsResult['tools'][number]['outputSchema']>,
    })),
  };
  lists.set(isOperator, listed);
  return listed;
}

/** Draft 7, which every client understands. */
const toJsonSchema = (schema: z.ZodObject, io: 'input' | 'output'): object =>
  z.toJSONSchema(schema, { io, target: 'draft-7' });
