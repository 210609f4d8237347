/** `stopgate serve` as a process of its own, as it is shipped: from dist, which `npm test` builds first. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export const main = new URL('../../dist/src/main.js', import.meta.url).pathname;

export type ServiceProcess = {
  readonly pid: number;
  readonly ready: { readonly ready: true; readonly nats: string; readonly http: string | null; readonly fleet: string };
  /** Milliseconds from the start to the ready line. */
  readonly tookMs: number;
  readonly errors: () => string;
  /** Ends it and gives its exit code, or null after a signal. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
};

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** @throws Error with what it wrote to stderr, where it ends before it is ready */
export async function startService(
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<ServiceProcess> {
  const started = performance.now();
  const clean = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: cwd };
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...clean, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  alive.add(child);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-20_000);
  });
  const exited = once(child, 'exit').then(([code]) => {
    alive.delete(child);
    return code as number | null;
  });
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([
    once(lines, 'line').then(([line]) => line as string),
    exited.then((code) => ({ code })),
  ]);
  if (typeof first !== 'string') throw new Error(`it ended with ${first.code} before it was ready: ${errors}`);
  return {
    pid: child.pid as number,
    ready: JSON.parse(first) as ServiceProcess['ready'],
    tookMs: performance.now() - started,
    errors: () => errors,
    async kill(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
}
