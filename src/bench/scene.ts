/** What the bench runs on: a NATS server, the service and an echo responder, each in its own process on loopback. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AppError } from '../errors.ts';
import { findBinary } from '../nats/server-binary.ts';

/** `url` of NATS, `http` of the service, `inspector` of its Node, where that was asked for. */
export type Scene = {
  readonly url: string;
  readonly http: string;
  readonly inspector: string | null;
  readonly pids: ScenePids;
  close(): Promise<void>;
};

export type ScenePids = { readonly service: number; readonly server: number; readonly echo: number };

type SceneOptions = { readonly config?: string; readonly inspect?: boolean };

const benchConfig = `
policies:
  default: { retries: null, checks: [{ plan: {} }] }
  plain: { retries: null }
  remote: { retries: null, checks: [{ remote: bench }] }
`;

/** @throws AppError server.missing */
export async function openScene({ config = benchConfig, inspect = false }: SceneOptions = {}): Promise<Scene> {
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
      await findBinary(undefined),
      ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', folder, '--ports_file_dir', folder],
      { stdio: 'ignore' },
    );
    children.push(server);
    const url = await readUrl(folder);
    writeFileSync(join(folder, 'stopgate.yaml'), config);
    const service = spawn(
      process.execPath,
      [
        ...(inspect ? ['--inspect=127.0.0.1:0'] : []),
        pathOf('../main.js'),
        'serve',
        '--nats',
        url,
        '--http',
        '127.0.0.1:0',
        '--log-level',
        'silent',
      ],
      {
        cwd: folder,
        env: {}, // without the STOPGATE_* variables of the user's own service
        stdio: ['ignore', 'pipe', inspect ? 'pipe' : 'inherit'],
      },
    );
    children.push(service);
    const inspector = inspect ? await readInspector(service) : null;
    const [line] = (await once(createInterface({ input: service.stdout as Readable }), 'line')) as [string];
    const { http } = JSON.parse(line) as { http: string };
    const echo = fork(pathOf('./echo.js'), [url]);
    children.push(echo);
    await once(echo, 'message');
    const pids = { service: service.pid ?? 0, server: server.pid ?? 0, echo: echo.pid ?? 0 };
    return { url, http, inspector, pids, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Node says it before anything else. */
async function readInspector({ stderr }: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: stderr as Readable }), 'line')) as [string];
  return line.slice(line.indexOf('ws://'));
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
