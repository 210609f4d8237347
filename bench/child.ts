/** Child processes: runs measured commands to their end, and ends other processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readEnvironment } from '../src/config/environment.ts';

export type ChildCommand = readonly [program: string, ...args: string[]];
type ChildOptions = { readonly stdin?: string; readonly cwd?: string };

/** Without the variables of the user's own service. Keeps Node's, which affect all starts alike. */
const env = Object.fromEntries(Object.entries(readEnvironment()).filter(([name]) => !name.startsWith('STOPGATE_')));

/** Resolves once its streams are closed. Rejects if it fails, because its time would be meaningless. */
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

/** Resolves once the process has exited. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
