/** Runs the shipped, bundled `stopgate` in dist as a process. `npm test` builds it first. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type CommandOptions, cleanEnv, keepStreams, runCommand, type StartCommand } from './command.ts';

export const main = new URL('../../dist/program/dist/src/main.js', import.meta.url).pathname;
/** The unbundled build of a checkout, which includes the bench. */
export const unbundledMain = new URL('../../dist/src/main.js', import.meta.url).pathname;

const endTimeoutMs = 30_000;
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL'); // in case a test did not call `kill`
});

/** `kill` waits for the exit. After 30 s it sends SIGKILL, which the exit code shows. */
export const startShipped: StartCommand = (...given) => startProgram(main, ...given);

export const startUnbundled: StartCommand = (...given) => startProgram(unbundledMain, ...given);

/** @param program the `main.js` of another build */
export const startBuild =
  (program: string): StartCommand =>
  (...given) =>
    startProgram(program, ...given);

function startProgram(
  program: string,
  ...[args, { cwd, env = {}, stdin = '', onStdout }]: Parameters<StartCommand>
): ReturnType<StartCommand> {
  if (!existsSync(program)) throw new Error(`there is no ${program}; run: npm run build`);
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { ...cleanEnv(cwd), ...env },
    stdio: 'pipe',
  });
  alive.add(child);
  const streams = keepStreams(onStdout);
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => streams.add(name, text));
  const ended = once(child, 'close').then(([code]) => {
    alive.delete(child);
    streams.end();
    return code as number | null;
  });
  child.stdin.on('error', () => undefined); // the command may not read its stdin
  if (typeof stdin === 'string') child.stdin.end(stdin);
  else stdin.pipe(child.stdin);
  return {
    pid: child.pid ?? 0,
    stdout: () => streams.texts.stdout,
    stderr: () => streams.texts.stderr,
    printed: streams.printed,
    ended,
    async kill(signal = 'SIGTERM') {
      child.kill(signal);
      const impatient = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
      return ended.finally(() => clearTimeout(impatient));
    },
  };
}

/** Runs a command to its end. */
export const runShipped = (args: readonly string[], options: CommandOptions) => runCommand(args, options, startShipped);
