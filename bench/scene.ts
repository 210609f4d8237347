/** The processes of the bench: a NATS server, the service and an echo responder, on loopback. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../src/config/environment.ts';
import { AppError } from '../src/errors.ts';
import { findBinary } from '../src/nats/embedded/server-binary.ts';
import { endChild } from './child.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** `url` is the address of NATS, `http` that of the service. */
export type Scene = {
  readonly url: string;
  readonly http: string;
  /** Contains the service's settings. Removed at the end. */
  readonly folder: string;
  readonly probe: ServiceProcess['probe'];
  readonly pids: ScenePids;
  close(): Promise<void>;
};

export type ScenePids = { readonly service: number; readonly server: number; readonly echo: number };

type SceneOptions = {
  readonly config?: string;
  /** Additional arguments for `serve`. */
  readonly args?: readonly string[];
  /** Whether the service can be asked for its heap. */
  readonly probed?: boolean;
  /** The service's `main.js`. Default: that of this build. */
  readonly program?: string;
  /** The folder of the NATS server's store, which is kept. Default: a temporary one. */
  readonly store?: string | undefined;
};

const benchConfig = `
policies:
  default: { retries: null, checks: [{ plan: {} }] }
  plain: { retries: null }
  remote: { retries: null, checks: [{ remote: bench }] }
`;

/** @throws AppError server.missing */
export async function openScene({
  config = benchConfig,
  args = [],
  probed = false,
  program,
  store,
}: SceneOptions = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const each of closers.reverse()) await each();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const server = spawn(
      (await findBinary(readEnvironment())).path,
      ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', store ?? folder, '--ports_file_dir', folder],
      { stdio: 'ignore' },
    );
    closers.push(() => endChild(server));
    const url = await readUrl(folder);
    writeFileSync(join(folder, 'stopgate.yaml'), config);
    const service = startServiceProcess({ url, cwd: folder, program, args, probed });
    closers.push(service.close);
    const http = await service.ready;
    const echo = fork(pathOf('./echo.js'), [url]);
    closers.push(() => endChild(echo));
    await once(echo, 'message');
    const pids = { service: service.pid, server: server.pid ?? 0, echo: echo.pid ?? 0 };
    return { url, http, folder, probe: service.probe, pids, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

async function readUrl(folder: string): Promise<string> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const file = readdirSync(folder).find((name) => name.endsWith('.ports'));
    const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
    if (text.trimEnd().endsWith('}')) return (JSON.parse(text) as { nats: string[] }).nats[0] ?? '';
    await pause(25);
  }
  throw new AppError('service.unreachable', 'nats-server did not start within 5 s');
}
