/** A command that is measured from its start to its end. */
import { spawn } from 'node:child_process';
import { readEnvironment } from '../config/environment.ts';

export type ChildCommand = readonly [program: string, ...args: string[]];
type ChildOptions = { readonly stdin?: string; readonly cwd?: string };

/** Variables of the user's own service are not for the one that is measured; those of Node cost every start the same. */
const env = Object.fromEntries(Object.entries(readEnvironment()).filter(([name]) => !name.startsWith('STOPGATE_')));

/** Resolves once its streams are closed. Rejects where it fails: its time would be that of something else. */
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
