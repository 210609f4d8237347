/** A `stopgate` command as a process of its own, as it is shipped: what it prints is kept whole, its end is an event. */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { main } from './service-process.ts';

export type CommandOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: nothing, closed at once. */
  readonly stdin?: string;
};
export type Command = {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves as soon as one of its streams holds this. @throws Error where it ends without having said so */
  printed(text: string | RegExp): Promise<void>;
  /** Its exit code, null after a signal; both streams are complete then. */
  readonly ended: Promise<number | null>;
  /** Sends `signal` and waits for the end; one that does not end in 10 s is killed, which its exit code shows. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
};
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

const endTimeoutMs = 10_000;
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL'); // of a test that never came to its `kill`
});

export function startCommand(args: readonly string[], { cwd, env = {}, stdin = '' }: CommandOptions): Command {
  const clean = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: cwd };
  const child = spawn(process.execPath, [main, ...args], { cwd, env: { ...clean, ...env }, stdio: 'pipe' });
  alive.add(child);
  const changes = new EventEmitter().setMaxListeners(0);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
      changes.emit('change');
    });
  }
  let hasEnded = false;
  const ended = once(child, 'close').then(([code]) => {
    hasEnded = true;
    alive.delete(child);
    changes.emit('change');
    return code as number | null;
  });
  child.stdin.on('error', () => undefined).end(stdin); // it need not read it
  const holds = (text: string | RegExp) =>
    Object.values(texts).some((it) => (typeof text === 'string' ? it.includes(text) : text.test(it)));
  return {
    pid: child.pid ?? 0,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    ended,
    async printed(text) {
      while (!holds(text)) {
        if (hasEnded) throw new Error(`it ended without having said ${text}:\n${texts.stdout}\n${texts.stderr}`);
        await once(changes, 'change');
      }
    },
    async kill(signal = 'SIGTERM') {
      child.kill(signal);
      const impatient = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
      return ended.finally(() => clearTimeout(impatient));
    },
  };
}

/** One command from its start to its end. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<Ended> {
  const command = startCommand(args, options);
  const code = await command.ended;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}
