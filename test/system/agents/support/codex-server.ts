/** Runs a turn over `codex app-server`, the protocol of Codex's editors and apps: one JSON-RPC message per line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type AgentHome, cleanEnv, codexEnv } from './run.ts';

export type Message = { readonly id?: number; readonly method?: string; readonly params?: object };
type Thread = { readonly result?: { readonly thread?: { readonly id: string } } };

const turnTimeoutMs = 60_000;

/** Resolves to everything that the server sent until the turn was over. @throws Error if it ends earlier */
export async function runCodexTurn(
  program: string,
  at: AgentHome,
  prompt: string,
  approvalPolicy = 'never',
): Promise<Message[]> {
  const env = { ...cleanEnv(at), ...codexEnv(at) };
  const child = spawn(program, ['app-server'], { cwd: at.project, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const late = setTimeout(() => child.kill('SIGKILL'), turnTimeoutMs);
  const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  say({ id: 1, method: 'initialize', params: { clientInfo: { name: 'test', version: '0' } } });
  say({ method: 'initialized' });
  const thread = { cwd: at.project, approvalPolicy, sandbox: 'danger-full-access' };
  say({ id: 2, method: 'thread/start', params: thread });
  const messages: Message[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const message = JSON.parse(line) as Message & Thread;
      messages.push(message);
      const input = [{ type: 'text', text: prompt }];
      if (message.id === 2)
        say({ id: 3, method: 'turn/start', params: { threadId: message.result?.thread?.id, input } });
      if (message.method === 'turn/completed') return messages;
    }
    throw new Error(`it ended before the turn did: ${JSON.stringify(messages.slice(-3))}`);
  } finally {
    clearTimeout(late);
    await end(child);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
