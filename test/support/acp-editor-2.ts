/** An editor that speaks version 2 of ACP, connected to an agent through `stopgate acp`: a client of the official SDK. */
import { PassThrough, Writable } from 'node:stream';
import {
  type ClientContext,
  client,
  type InitializeResponse,
  methods,
  ndJsonStream,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/experimental/v2';
import { onTestFinished } from 'vitest';
import { startCommand } from './command.ts';

type Options = {
  readonly cwd: string;
  /** Options of `stopgate acp`. */
  readonly args: readonly string[];
  readonly agent: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

type Editor2 = {
  readonly context: ClientContext;
  readonly initialized: InitializeResponse;
  /** From all sessions, in order. */
  readonly updates: readonly SessionUpdate[];
  /** The states among them. */
  states(): string[];
};

/** Ends with the test. */
export async function openEditor2({ cwd, args, agent, env = {} }: Options): Promise<Editor2> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const command = startCommand(['acp', ...args, '--', ...agent], {
    cwd,
    env,
    stdin,
    onStdout: (text) => stdout.write(text),
  });
  void command.ended.then(() => stdout.end());
  onTestFinished(async () => {
    stdin.end();
    await command.ended;
  });
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      stdout.on('data', (chunk: Buffer) => controller.enqueue(chunk));
      stdout.on('end', () => controller.close());
    },
  });
  const updates: SessionUpdate[] = [];
  const { agent: context } = client({ name: 'test-editor' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .connect(ndJsonStream(Writable.toWeb(stdin) as WritableStream<Uint8Array>, readable));
  const info = { name: 'test-editor', version: '1.0.0' };
  const initialized = await context.request(methods.agent.initialize, { protocolVersion: 2, info, capabilities: {} });
  const states = () =>
    updates.flatMap((update) => (update.sessionUpdate === 'state_update' ? [String(update.state)] : []));
  return { context, updates, states, initialized };
}
