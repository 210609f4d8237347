/** What the bench runs on: a NATS server, the service and an echo responder, each in its own process on loopback. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../errors.ts';
import { findBinary } from '../nats/embedded/server-binary.ts';
import { startServiceProcess } from './service-process.ts';

/** `url` of NATS, `http` of the service, `inspector` of its Node, where that was asked for. */
export type Scene = {
  readonly url: string;
  readonly http: string;
  /** With the service's settings; removed at the end. */
  readonly folder: string;
  readonly inspector: string | null;
  readonly pids: ScenePids;
  close(): Promise<void>;
};

export type ScenePids = { readonly service: number; readonly server: number; readonly echo: number };

type SceneOptions = {
  readonly config?: string;
  /** More arguments of `serve`. */
  readonly args?: readonly string[];
  readonly inspect?: boolean;
  /** The service's `main.js`. Default: that of this build. */
  readonly program?: string;
  /** The folder of the NATS server's store, which stays. Default: one that is removed at the end. */
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
  inspect = false,
  program,
  store,
}: SceneOptions = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const server = spawn(
      (await findBinary(undefined)).path,
      ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', store ?? folder, '--ports_file_dir', folder],
      { stdio: 'ignore' },
    );
    children.push(server);
    const url = await readUrl(folder);
    writeFileSync(join(folder, 'stopgate.yaml'), config);
    const service = startServiceProcess({ url, cwd: folder, program, args, inspect });
    children.push(service.child);
    const { http, inspector } = await service.ready;
    const echo = fork(pathOf('../bench/echo.js'), [url]);
    children.push(echo);
    await once(echo, 'message');
    const pids = { service: service.pid, server: server.pid ?? 0, echo: echo.pid ?? 0 };
    return { url, http, folder, inspector, pids, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

async function readUrl(folder: string): Promise<string> {
  for (let turn = 0; turn < 200; turn += 1) {
    const file = readdirSync(folder).find((name) => name.endsWith('.ports'));
    const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
    if (text.trimEnd().endsWith('}')) return (JSON.parse(text) as { nats: string[] }).nats[0] ?? '';
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new AppError('service.unreachable', 'nats-server did not start within 5 s');
}
