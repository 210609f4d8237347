/** Child processes: commands that are measured from their start to their end, and how others are ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readEnvironment } from '../src/config/environment.ts';

export type ChildCommand = readonly [program: string, ...args: string[]];
type ChildOptions = { readonly stdin?: string; readonly cwd?: string };

/** Without the variables of the user's own service. Those of Node stay: they cost every start the same. */
const env = Object.fromEntries(Object.entries(readEnvironment()).filter(([name]) => !name.startsWith('STOPGATE_')));

/** Resolves once its streams are closed. Rejects if it fails, for its time would mean nothing. */
export function runToEnd([program, ...args]: ChildCommand, { stdin = '', cwd }: ChildOptions = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'ignore', 'inherit'] });
    child.stdin.on('error', () => undefined).end(stdin);
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`'${[program, ...args].join(' ')}' ended with ${code}`));
    });
  });
}

/** Resolves once it is gone. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
