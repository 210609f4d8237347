/**
 * Claude Code kept open for more input, like by the Agent SDK and editors: one JSON message per line in both
 * directions.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { type AgentHome, claudeEnv, cleanEnv } from './run.ts';

export type Line = { readonly type?: string; readonly session_id?: string; readonly [key: string]: unknown };
export type OpenClaude = {
  readonly session: string;
  /** Its output so far. */
  readonly lines: readonly Line[];
  say(line: object): void;
  /** Closes its input and waits until it has ended. */
  end(): Promise<void>;
};

/** Starts it with a first prompt. Killed when the test ends. */
export async function openClaude(
  program: string,
  { home, modelUrl }: { readonly home: AgentHome; readonly modelUrl: string },
  more: readonly string[] = ['--permission-mode', 'bypassPermissions'],
): Promise<OpenClaude> {
  const form = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
  const child = spawn(program, ['-p', ...form, ...more], {
    cwd: home.project,
    env: { ...cleanEnv(home), ...claudeEnv(home, modelUrl) },
    detached: true,
  });
  const gone = once(child, 'exit');
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // already ended
    }
  });
  const say = (line: object): void => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
  };
  say({ type: 'user', message: { role: 'user', content: 'do the task' } });
  const lines: Line[] = [];
  const session = await new Promise<string>((done, fail) => {
    gone.then(() => fail(new Error(`it ended before its first line: ${stderr}`)), fail);
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Line;
      lines.push(line);
      if (line.session_id !== undefined) done(line.session_id);
    });
  });
  return {
    session,
    lines,
    say,
    async end() {
      child.stdin.end();
      await gone;
    },
  };
}
