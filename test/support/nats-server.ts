/**
 * A real nats-server for a test: with JetStream, on its own loopback port, in temporary folders. It signals only its
 * own process and never sleeps: readiness is a file, the end is an event.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type NatsServerOptions = {
  /** Configuration file (accounts, permissions, limits). Port and store folder are added. */
  readonly config?: string;
  /** A permanent store, created if missing and never removed. Default: a temporary store. */
  readonly storeDir?: string;
  /** Default: any free port. */
  readonly port?: number;
  /** Additional arguments, such as `['--user', 'a', '--pass', 'b']`. */
  readonly args?: readonly string[];
  /** Runs the server as an unprivileged user if the tests run as root, so that file permissions apply. */
  readonly unprivileged?: boolean;
};

const nobody = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;

export type NatsServer = {
  readonly url: string;
  /** HTTP monitoring address of the current process. */
  readonly monitor: string;
  /** Unchanged by a restart, like `url` and `storeDir`. */
  readonly port: number;
  readonly storeDir: string;
  /** Pid of the current process, or of the last one. */
  readonly pid: number;
  /** Stops the server and removes its temporary folders. Idempotent, also after `kill`. */
  stop(): Promise<void>;
  /**
   * Sends `signal` (default SIGKILL) and waits for the exit, except for SIGSTOP, SIGCONT and SIGHUP. Keeps the store.
   */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Restarts with the same port and store, after a SIGTERM if the server still runs. */
  restart(): Promise<void>;
};

const readyTimeoutMs = 60_000; // a start takes 50 ms; a store of a few GB on two busy cores takes seconds
const stopTimeoutMs = 20_000; // then SIGKILL: a test's teardown must not wait for a server that hangs
const logCharactersMax = 8_192; // the end of the server's log, for error messages
const notEnding: readonly NodeJS.Signals[] = ['SIGSTOP', 'SIGCONT', 'SIGHUP'];

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL'); // in case a test did not call `stop`
});

/** @throws Error with the end of the server's log if it does not start */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const home = await mkdtemp(join(tmpdir(), 'stopgate-nats-'));
  const storeDir = options.storeDir ?? join(home, 'store');
  const configFile = join(home, 'nats.conf');
  const start = async (port: number) => {
    await mkdir(storeDir, { recursive: true });
    if (options.config !== undefined) await writeFile(configFile, options.config);
    const config = options.config === undefined ? [] : ['--config', configFile];
    const listen = ['--addr', '127.0.0.1', '--port', String(port)];
    const user = options.unprivileged && isRoot ? nobody : null;
    if (user !== null) for (const folder of [home, storeDir]) await chown(folder, user.uid, user.gid);
    return launch(
      [...config, ...listen, '-m', '-1', '-js', '--store_dir', storeDir, ...(options.args ?? [])],
      home,
      user,
    );
  };
  let running = await start(options.port ?? -1).catch(async (cause: unknown) => {
    await remove(home);
    throw cause;
  });
  const { port } = running;
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    storeDir,
    get monitor() {
      return running.monitor;
    },
    get pid() {
      return running.pid;
    },
    async stop() {
      await end(running.child, 'SIGTERM');
      await remove(home);
    },
    async kill(signal = 'SIGKILL') {
      if (notEnding.includes(signal)) running.child.kill(signal);
      else await end(running.child, signal);
    },
    async restart() {
      await end(running.child, 'SIGTERM');
      running = await start(port);
    },
  };
}

type Ports = { readonly port: number; readonly monitor: string };
type Running = Ports & { readonly child: ChildProcess; readonly pid: number };

/** Starts a process and waits for its ports file, which the server writes once it accepts connections. */
async function launch(args: readonly string[], home: string, user: typeof nobody | null): Promise<Running> {
  const portsDir = await mkdtemp(join(home, 'ports-'));
  if (user !== null) await chown(portsDir, user.uid, user.gid);
  const changes = watch(portsDir); // before the spawn, so that no change is missed
  const child = spawn('nats-server', [...args, '--ports_file_dir', portsDir], {
    ...user,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.once('spawn', () => alive.add(child)).once('exit', () => alive.delete(child));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-logCharactersMax);
  });
  try {
    const ports = await new Promise<Ports>((resolve, reject) => {
      const look = () => {
        readPorts(portsDir).then((found) => found !== undefined && resolve(found), reject);
      };
      changes.on('change', look).on('error', reject);
      child.once('spawn', look).once('error', reject);
      child.once('close', (code, signal) => reject(new Error(`nats-server ended early (${signal ?? code})`)));
      AbortSignal.timeout(readyTimeoutMs).addEventListener('abort', () =>
        reject(new Error(`nats-server was not ready within ${readyTimeoutMs} ms`)),
      );
    });
    return { ...ports, child, pid: child.pid ?? 0 };
  } catch (cause) {
    await end(child, 'SIGKILL');
    throw new Error(`nats-server did not start: ${args.join(' ')}\n${log}`, { cause });
  } finally {
    changes.close();
  }
}

/** Returns undefined while there is no complete ports file. */
async function readPorts(portsDir: string): Promise<Ports | undefined> {
  const name = (await readdir(portsDir)).find((file) => file.endsWith('.ports'));
  const text = name === undefined ? '' : await readFile(join(portsDir, name), 'utf8');
  if (!text.trimEnd().endsWith('}')) return undefined;
  const { nats, monitoring } = JSON.parse(text) as { nats: readonly [string]; monitoring: readonly [string] };
  return { port: Number(new URL(nats[0]).port), monitor: monitoring[0] };
}

/** Resolves when the process is gone. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const impatient = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  child.kill('SIGCONT'); // a stopped process would not see a SIGTERM
  child.kill(signal);
  await gone;
  clearTimeout(impatient);
}

const remove = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 3 });
