/**
 * The MCP server: tools over a port. One is made for each connection (stdio) or request (HTTP); it remembers nothing, so
 * that any replica may answer any call.
 */
import { randomBytes } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type ListToolsResult,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { describeIssues, isTooDeep, toIssues, tooDeepMessage } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { createKeyedMutex, type KeyedMutex } from '../keyed-mutex.ts';
import { version } from '../version.ts';
import { checkpointTools } from './checkpoints.ts';
import { hookTools } from './hooks.ts';
import { iterationTools } from './iterations.ts';
import type { McpPort } from './port.ts';
import type { Tool, ToolContext } from './tool.ts';
import { workTools } from './work.ts';

export type McpOptions = {
  readonly port: McpPort;
  /** Who asks, where a call does not say. */
  readonly worker?: string | null;
  /** Those of all servers on the same port. */
  readonly mutex?: KeyedMutex;
  readonly newId?: () => string;
  /** Told of each call as it begins; its promise never fails. */
  readonly onCall?: (call: Promise<unknown>) => void;
  /** Told of what is a bug of ours. */
  readonly onBug: (error: unknown, tool: string) => void;
};

const tools = new Map<string, Tool>(
  [...hookTools, ...iterationTools, ...checkpointTools, ...workTools].map((tool) => [tool.name, tool]),
);

const instructions = `stopgate says whether your work on a task may end. The loop:
1. hook_register({ taskId, hookType: "default" }), then iteration_start({ taskId, maxIterations }).
2. Work. Then iteration_validate({ iterationId, agentOutput, validationResults }).
3. completionSignal CONTINUE: follow reason and nextPrompt, call iteration_next, and go to 2 with the new iterationId.
   COMPLETE: iteration_complete({ iterationId, completionPromise: "COMPLETE" }). ESCALATE: stop and tell a person the reason.
Write <promise>COMPLETE</promise> in agentOutput only when all is done, <promise>BLOCKED</promise> where you cannot go on.
checkpoint_create keeps where you are, checkpoint_resume gives it back in another session; hooks survive too.
decide asks whether you may stop at all; a block says in nextPrompt what is missing.`;

export function createMcpServer(options: McpOptions): McpServer {
  const { port, worker = null, mutex = createKeyedMutex(), newId = shortId, onCall = () => {}, onBug } = options;
  const mcp = new McpServer({ name: 'stopgate', title: 'stopgate', version: version() }, { instructions });
  // Not by registerTool: its errors for bad input are written for programs, and it would make all schemas anew for
  // each request.
  const { server } = mcp;
  server.registerCapabilities({ tools: {} });
  server.setRequestHandler(ListToolsRequestSchema, () => listing());
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const answer = call({ port, worker, mutex, newId }, params.name, params.arguments ?? {}, onBug);
    onCall(answer);
    return answer;
  });
  return mcp;
}

const shortId = (): string => randomBytes(6).toString('hex');

async function call(
  context: ToolContext,
  name: string,
  given: unknown,
  onBug: McpOptions['onBug'],
): Promise<CallToolResult> {
  try {
    const tool = tools.get(name);
    if (tool === undefined)
      throw new AppError('input.bad', `there is no tool '${name}'; these are: ${[...tools.keys()].join(', ')}`);
    const result = await tool.run(context, readInput(tool, given));
    // As the wire would have it: without fields that are undefined.
    const text = JSON.stringify(result);
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
  } catch (error) {
    const isOurs = error instanceof AppError;
    if (!isOurs) onBug(error, name);
    const text = isOurs ? describeError(error) : 'internal error of stopgate; its log on stderr says more';
    return { content: [{ type: 'text', text }], isError: true };
  }
}

/** @throws AppError input.bad */
function readInput(tool: Tool, given: unknown): never {
  if (isTooDeep(given)) throw new AppError('input.bad', tooDeepMessage);
  const parsed = tool.input.safeParse(given);
  if (parsed.success) return parsed.data as never;
  const takes = Object.entries(tool.input.shape).map(([name, schema]) =>
    (schema as z.ZodType).safeParse(undefined).success ? `${name}?` : name,
  );
  throw new AppError('input.bad', `${describeIssues(toIssues(parsed.error))}. ${tool.name} takes: ${takes.join(', ')}`);
}

/** What was wrong, and what to do where the message does not say it. */
function describeError({ code, message }: AppError): string {
  switch (code) {
    case 'entry.large':
      return `${message} bytes. Nothing was stored; shorten what is long (draftContent, agentContext, metadata) and call again`;
    case 'log.unavailable':
    case 'service.busy':
      return `${message}. Call again in a moment`;
    case 'log.lost':
      return `${message}. A person must look at the service`;
    case 'service.unreachable':
      return `${message}. Then call again`;
    default:
      return message;
  }
}

let listed: ListToolsResult | null = null;

/** The same for all; made when it is first asked for. */
function listing(): ListToolsResult {
  listed ??= {
    tools: [...tools.values()].map(({ name, title, description, input, output, annotations }) => ({
      ...{ name, title, description, annotations },
      inputSchema: toJsonSchema(input, 'input') as ListToolsResult['tools'][number]['inputSchema'],
      outputSchema: toJsonSchema(output, 'output') as NonNullable<ListToolsResult['tools'][number]['outputSchema']>,
    })),
  };
  return listed;
}

/** Draft 7, which every client knows. */
const toJsonSchema = (schema: z.ZodObject, io: 'input' | 'output'): object =>
  z.toJSONSchema(schema, { io, target: 'draft-7' });
