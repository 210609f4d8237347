/** The service under test: as shipped, in its own process, without the user's settings. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { endChild } from './child.ts';
import type { Probed } from './probe.ts';

type ServiceOptions = {
  /** URL of NATS. */
  readonly url: string;
  /** The folder of its `stopgate.yaml`. */
  readonly cwd: string;
  /** Its `main.js`. Default: that of this build. */
  readonly program?: string | undefined;
  /** Additional arguments for `serve`. */
  readonly args?: readonly string[];
  /** `off` for none. Default: a free port. */
  readonly http?: string;
  readonly logLevel?: string;
  /** File descriptor for its log. Default: the bench's own stderr. */
  readonly log?: number;
  /** Whether it can be asked for its heap. */
  readonly probed?: boolean;
};

export type ServiceProcess = {
  readonly pid: number;
  /** Resolves with its address once it answers. */
  readonly ready: Promise<string>;
  /** Only if `probed` is set. */
  probe(): Promise<Probed>;
  close(): Promise<void>;
};

const probe = ['--expose-gc', '--import', new URL('./probe.js', import.meta.url).href];

export function startServiceProcess(options: ServiceOptions): ServiceProcess {
  const { url, cwd, args = [], http = '127.0.0.1:0', logLevel = 'silent', log = 'inherit', probed = false } = options;
  const main = options.program ?? fileURLToPath(new URL('../src/main.js', import.meta.url));
  const serve = ['serve', '--nats', url, '--http', http, '--log-level', logLevel, ...args];
  const child = spawn(process.execPath, [...(probed ? probe : []), main, ...serve], {
    cwd,
    env: {}, // without the STOPGATE_* variables of the user's own service
    stdio: ['ignore', 'pipe', log, ...(probed ? (['ipc'] as const) : [])],
  });
  return {
    pid: child.pid ?? 0,
    ready: readReady(child),
    async probe() {
      child.send('probe');
      return (await once(child, 'message'))[0] as Probed;
    },
    close: () => endChild(child),
  };
}

async function readReady(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the service that is measured ended with ${code}`);
  });
  const line = once(createInterface({ input: child.stdout as Readable }), 'line') as Promise<[string]>;
  const [text] = await Promise.race([line, ended]);
  return (JSON.parse(text) as { http: string }).http;
}
