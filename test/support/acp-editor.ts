/** An editor connected to an agent through `stopgate acp`: a client of the official ACP SDK on its stdin and stdout. */
import { PassThrough, Writable } from 'node:stream';
import {
  type ClientContext,
  client,
  type InitializeResponse,
  methods,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { onTestFinished } from 'vitest';
import { type Command, type StartCommand, startCommand } from './command.ts';

export const agentProgram = new URL('acp-agent.mjs', import.meta.url).pathname;

export type Step = Readonly<Record<string, unknown>>;
export type Turns = readonly (readonly Step[])[];
export type Script = { readonly turns?: Turns; readonly past?: readonly object[]; readonly name?: string };

export type Editor = {
  readonly command: Command;
  readonly agent: ClientContext;
  /** The agent's answer to `initialize`. */
  readonly initialized: InitializeResponse;
  /** The session updates from the agent, in order. */
  updatesOf(session: string): SessionUpdate[];
  /** The agent's message chunks, including stopgate's own. */
  saidIn(session: string): string[];
  /** Received methods that the SDK does not know, with their parameters. */
  readonly others: { method: string; params: unknown }[];
  /** Default: in the folder of the editor, with the turns of the agent. */
  newSession(folder?: string, turns?: Turns): Promise<string>;
  prompt(session: string, text?: string): Promise<PromptResponse>;
  /** The prompts that the scripted agent received. */
  promptsOf(session: string): Promise<string[]>;
  /** Disconnects the editor. */
  leave(): Promise<number | null>;
};
export type EditorOptions = {
  readonly cwd: string;
  /** Options of `stopgate acp`. */
  readonly args: readonly string[];
  readonly script?: Script;
  /** Default: the scripted agent. */
  readonly agent?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The person's reply to permission requests. Default: yes. */
  readonly onPermission?: (asked: RequestPermissionRequest) => Promise<RequestPermissionResponse>;
  /** Default: in this process. */
  readonly start?: StartCommand;
  /** The editor offers no file access, so the agent reads and writes files itself. */
  readonly isPlain?: boolean;
  /** Default: true. If false, the caller must call `leave`. */
  readonly endsWithTest?: boolean;
};

export const chosen = (optionId: string): RequestPermissionResponse => ({ outcome: { outcome: 'selected', optionId } });

const allowOnce = async ({ options }: RequestPermissionRequest): Promise<RequestPermissionResponse> =>
  chosen(options.find(({ kind }) => kind === 'allow_once')?.optionId ?? '');

export async function openEditor(options: EditorOptions): Promise<Editor> {
  const { cwd, args, script = {}, start = startCommand, endsWithTest = true } = options;
  const { agent = [process.execPath, agentProgram, JSON.stringify(script)] } = options;
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const command = start(['acp', ...args, '--', ...agent], {
    cwd,
    env: options.env ?? {},
    stdin,
    onStdout: (text) => stdout.write(text),
  });
  void command.ended.then(() => stdout.end());
  const leave = async () => {
    stdin.end();
    return command.ended;
  };
  if (endsWithTest) onTestFinished(async () => void (await leave()));
  const updates = new Map<string, SessionUpdate[]>();
  const others: Editor['others'] = [];
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      stdout.on('data', (chunk: Buffer) => controller.enqueue(chunk));
      stdout.on('end', () => controller.close());
    },
  });
  const connection = client({ name: 'test-editor' })
    .onRequest(methods.client.session.requestPermission, async ({ params }) =>
      (options.onPermission ?? allowOnce)(params),
    )
    .onRequest(methods.client.fs.readTextFile, ({ params }) => ({ content: `of ${params.path}` }))
    .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
      updates.set(sessionId, [...(updates.get(sessionId) ?? []), update]);
    })
    .onNotification('*', ({ method, params }) => void others.push({ method, params }))
    .connect(ndJsonStream(Writable.toWeb(stdin) as WritableStream<Uint8Array>, readable, { maxMessageBytes: 2 ** 28 }));
  const { agent: context } = connection;
  const initialized = await context.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: options.isPlain ? {} : { fs: { readTextFile: true } },
  });
  const updatesOf = (session: string) => updates.get(session) ?? [];
  return {
    command,
    agent: context,
    initialized,
    updatesOf,
    others,
    saidIn: (session) =>
      updatesOf(session).flatMap((it) =>
        it.sessionUpdate === 'agent_message_chunk' && it.content.type === 'text' ? [it.content.text] : [],
      ),
    async newSession(folder = cwd, turns = undefined) {
      const own = turns === undefined ? {} : { _meta: { turns } };
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: folder, mcpServers: [], ...own });
      return sessionId;
    },
    prompt: (sessionId, text = 'Do the task.') =>
      context.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
    promptsOf: async (sessionId) => (await context.request<{ prompts: string[] }>('_prompts', { sessionId })).prompts,
    leave,
  };
}
