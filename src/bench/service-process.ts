/** The service as the bench measures it: as it is shipped, in a process of its own, without the user's settings. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

type ServiceOptions = {
  /** Of NATS. */
  readonly url: string;
  /** Where its `stopgate.yaml` stands. */
  readonly cwd: string;
  /** Its `main.js`. Default: that of this build. */
  readonly program?: string | undefined;
  /** More arguments of `serve`. */
  readonly args?: readonly string[];
  readonly logLevel?: string;
  /** The file that its log goes to. Missing: the bench's own stderr. */
  readonly log?: number;
  readonly inspect?: boolean;
};

export type ServiceProcess = {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Resolves once it answers. `inspector`: of its Node, where that was asked for. */
  readonly ready: Promise<{ readonly http: string; readonly inspector: string | null }>;
};

export function startServiceProcess(options: ServiceOptions): ServiceProcess {
  const { url, cwd, args = [], logLevel = 'silent', log = 'inherit', inspect = false } = options;
  const main = options.program ?? fileURLToPath(new URL('../main.js', import.meta.url));
  const child = spawn(
    process.execPath,
    [
      ...(inspect ? ['--inspect=127.0.0.1:0'] : []),
      ...[main, 'serve', '--nats', url, '--http', '127.0.0.1:0', '--log-level', logLevel, ...args],
    ],
    {
      cwd,
      env: {}, // without the STOPGATE_* variables of the user's own service
      stdio: ['ignore', 'pipe', inspect ? 'pipe' : log],
    },
  );
  return { child, pid: child.pid ?? 0, ready: readReady(child, inspect) };
}

async function readReady(child: ChildProcess, inspect: boolean) {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the service that is measured ended with ${code}`);
  });
  const started = async () => {
    const inspector = inspect ? await readInspector(child) : null;
    const [line] = (await once(createInterface({ input: child.stdout as Readable }), 'line')) as [string];
    return { http: (JSON.parse(line) as { http: string }).http, inspector };
  };
  return Promise.race([started(), ended]);
}

/** Node says it before anything else. */
async function readInspector({ stderr }: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: stderr as Readable }), 'line')) as [string];
  return line.slice(line.indexOf('ws://'));
}
