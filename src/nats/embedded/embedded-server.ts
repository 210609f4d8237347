/**
 * Runs a nats-server as a child process on loopback, for `stopgate dev` and `serve --embedded`. It may stop a process
 * left by an earlier run, but only a nats-server that runs with this store's configuration.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FSWatcher, watch } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Role } from '../permissions.ts';
import { isUnsafe } from '../server-version.ts';
import {
  credentialsFile,
  ensureCredentials,
  type ServerConfig,
  serverConfig,
  writePrivately,
} from './embedded-config.ts';
import { stopOrphanedServer } from './orphaned-server.ts';
import { findBinary, type SearchEnvironment, type ServerBinary, updateCommand } from './server-binary.ts';
import {
  type Running,
  type ServerExit,
  type SuperviseOptions,
  serverNameOf,
  stopProcess,
  superviseServer,
} from './server-process.ts';
import { lockStore } from './store-lock.ts';
import { openStoreSpace } from './store-space.ts';
import { watchStore } from './store-watch.ts';

export type EmbeddedServerOptions = {
  /** Created with mode 0700 if missing. */
  readonly storeDir: string;
  /** Folder of the stopgate.yaml that the service uses. The server's name contains it. Default: the store. */
  readonly folder?: string | undefined;
  /** Null prefers 4222 and falls back to any free port; 0 means any free port. */
  readonly port: number | null;
  /** Anonymous clients may read but not change the log of this fleet. */
  readonly fleet: string;
  readonly log: Logger;
  /** Called with the store locked, before the server starts. An error aborts the start. */
  readonly beforeStart?: () => Promise<void>;
  /** Where `findBinary` looks for the nats-server program. */
  readonly env: SearchEnvironment;
  /** Path of the program. Default: the result of `findBinary`. */
  readonly binary?: string | undefined;
  /** How often a crashed server is restarted. */
  readonly supervision?: Omit<SuperviseOptions, 'log'> | undefined;
};

export type EmbeddedServer = {
  readonly url: string;
  readonly port: number;
  /** Path of the JSON file with user and password of a role (mode 0600). */
  credentials(role: Role): string;
  /** Resolves when the server is stopped for good: after `close`, or if it cannot be restarted. Never rejects. */
  readonly closed: Promise<ServerExit>;
  /** Sends SIGTERM, then SIGKILL after 3 s, and unlocks the store. Idempotent. */
  close(): Promise<void>;
};

const usualPort = 4222;
const anyPort = -1;
const readyTimeoutMs = 120_000; // a start takes 50 ms; the recovery of a store of many GB takes minutes
const outputCharactersMax = 8_192;
const errorLinesMax = 10;

/**
 * @throws AppError server.missing if there is no nats-server, it is too old, or it does not start
 * @throws AppError config.bad if the port is taken, another stopgate uses the store, or the store is unusable
 */
export async function openEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { fleet, log, env } = options;
  const found = await findBinary(env, options.binary);
  const { path: binary, version } = found;
  const storeDir = await makeStore(options.storeDir);
  const portsDir = join(storeDir, 'ports');
  const paths: ServerPaths = {
    binary,
    portsDir,
    pidFile: join(storeDir, 'nats-server.pid'),
    configFile: join(storeDir, 'nats-server.conf'),
  };
  const lock = await lockStore(storeDir);
  try {
    await options.beforeStart?.();
    const stopped = await stopOrphanedServer(paths.pidFile, serverArgs(paths));
    if (stopped !== undefined) log.warn({ pid: stopped }, 'stopped the nats-server of a stopgate that was killed');
    for (const folder of [portsDir, join(storeDir, 'jetstream')]) await mkdir(folder, { recursive: true, mode: 0o700 });
    const credentials = await ensureCredentials(storeDir);
    const space = await openStoreSpace(storeDir);
    const start = async (ports: readonly number[]) => {
      const config = {
        name: serverNameOf(options.folder ?? storeDir),
        storeDir,
        portsDir,
        fleet,
        credentials,
        storeBytesMax: await space.allocate(),
        version,
      };
      const started = await launchOn(ports, paths, config, log);
      log.info({ pid: started.child.pid, port: started.port, storeDir }, 'nats-server started');
      return started;
    };
    const first = await start(portsFor(options.port));
    const { port } = first;
    const url = `nats://127.0.0.1:${port}`;
    const { closed, restart, close, hasFailedToWrite } = superviseServer(first, () => start([port]), {
      log,
      ...options.supervision,
    });
    const storeWatch = watchStore({
      url,
      credsFile: credentialsFile(storeDir, 'service'),
      space,
      fleet,
      log,
      restart,
      hasFailedToWrite,
    });
    if (isUnsafe(found)) logUnsafe(found, env, log);
    if (options.port === null && port !== usualPort)
      log.warn({ port }, `port ${usualPort} is taken, so NATS listens on ${port}; choose another with --port`);
    const stop = async () => {
      storeWatch.close();
      await close();
      await rm(paths.pidFile, { force: true });
      await space.close();
      await lock.release();
    };
    let stopping: Promise<void> | undefined;
    return {
      url,
      port,
      closed,
      credentials: (role) => credentialsFile(storeDir, role),
      close() {
        stopping ??= stop(); // only once: by a second call, another process may hold the lock
        return stopping;
      },
    };
  } catch (cause) {
    await lock.release();
    throw cause;
  }
}

const logUnsafe = ({ version, path }: ServerBinary, env: SearchEnvironment, log: Logger): void =>
  log.info(
    { version: version.join('.'), path },
    `this nats-server is old: any program on this machine can stop it, or delete the log, with one message; install a current one and start again: ${updateCommand(env)}`,
  );

async function makeStore(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await realpath(folder);
  } catch (cause) {
    throw badStore(folder, cause as Error);
  }
}

const badStore = (folder: string, cause: Error) =>
  new AppError('config.bad', `'${folder}' cannot be the store of the embedded nats-server: ${cause.message}`, {
    cause,
  });

const portsFor = (port: number | null): readonly number[] =>
  port === null ? [usualPort, anyPort] : [port === 0 ? anyPort : port];

type ServerPaths = {
  readonly binary: string;
  readonly portsDir: string;
  readonly pidFile: string;
  readonly configFile: string;
};

/** The complete arguments. They also identify a server that was left running. */
const serverArgs = ({ configFile }: ServerPaths) => ['-c', configFile];

/** Starts the server on the first free port of the list. */
async function launchOn(
  [port = anyPort, ...others]: readonly number[],
  paths: ServerPaths,
  config: Omit<ServerConfig, 'port'>,
  log: Logger,
): Promise<Running> {
  const isTaken = async () => port !== anyPort && !(await isFree(port));
  let failure: unknown;
  if (!(await isTaken())) {
    try {
      await writePrivately(paths.configFile, serverConfig({ ...config, port }));
      return await launch(paths, log);
    } catch (cause) {
      // Another process may have taken the port just now. The server reports that only as text, so check the port here.
      if (!(await isTaken())) throw cause;
      failure = cause;
    }
  }
  if (others.length > 0) return launchOn(others, paths, config, log);
  throw new AppError(
    'config.bad',
    `port ${port} on 127.0.0.1 is taken by another process; choose another one for the embedded nats-server with --port`,
    { cause: failure },
  );
}

/** Starts the process and waits until it accepts connections. */
async function launch(paths: ServerPaths, log: Logger): Promise<Running> {
  for (const name of await readdir(paths.portsDir)) await rm(join(paths.portsDir, name), { force: true });
  const changes = watch(paths.portsDir); // before the spawn, so that no change is missed
  // Detached: Ctrl-C in a terminal signals the whole process group, and the server must outlive its clients.
  const child = spawn(paths.binary, serverArgs(paths), { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  const { lastLines, hasFailedToWrite } = forwardOutput(child, log);
  const closed = watchEnd(child, lastLines);
  try {
    if (child.pid === undefined) await once(child, 'spawn'); // throws the reason
    await writePrivately(paths.pidFile, `${child.pid}\n`);
    return { child, closed, hasFailedToWrite, port: await awaitPort(paths.portsDir, changes, closed) };
  } catch (cause) {
    await stopProcess(child);
    throw notStarted(paths.binary, cause as Error, (await closed).lastLines);
  }
}

const notStarted = (binary: string, cause: Error, lastLines: string) =>
  new AppError('server.missing', `${binary} did not start: ${cause.message}\n${lastLines}`.trimEnd(), { cause });

function watchEnd(child: ChildProcess, lastLines: () => string): Promise<ServerExit> {
  const onExit = () => child.kill('SIGTERM'); // in case `close` was not called
  process.once('exit', onExit);
  return new Promise((resolve) => {
    const finish = (code: number | null, signal: NodeJS.Signals | null) => {
      process.removeListener('exit', onExit);
      resolve({ code, signal, lastLines: lastLines() });
    };
    child.once('close', finish);
    child.on('error', () => child.pid === undefined && finish(null, null));
  });
}

/** The server writes its ports to a file once it accepts connections. */
async function awaitPort(portsDir: string, changes: FSWatcher, closed: Promise<ServerExit>): Promise<number> {
  try {
    return await new Promise<number>((resolve, reject) => {
      const read = () => {
        readPort(portsDir).then((found) => found !== undefined && resolve(found), reject);
      };
      changes.on('change', read).on('error', reject);
      read();
      void closed.then(({ code, signal }) => reject(new Error(`it ended with ${signal ?? `code ${code}`}`)));
      AbortSignal.timeout(readyTimeoutMs).addEventListener('abort', () =>
        reject(new Error(`it was not ready within ${readyTimeoutMs / 1_000} s`)),
      );
    });
  } finally {
    changes.close();
  }
}

/** Returns undefined if there is no complete ports file yet. */
async function readPort(portsDir: string): Promise<number | undefined> {
  const name = (await readdir(portsDir)).find((file) => file.endsWith('.ports'));
  const text = name === undefined ? '' : await readFile(join(portsDir, name), 'utf8');
  if (!text.trimEnd().endsWith('}')) return undefined;
  const { nats } = JSON.parse(text) as { nats: readonly string[] };
  return nats[0] === undefined ? undefined : Number(new URL(nats[0]).port);
}

const levels: Readonly<Record<string, 'warn' | 'error'>> = { WRN: 'warn', ERR: 'warn', FTL: 'error' };
/** The first line of a Go crash report. Hundreds follow. */
const crash = /^(?:panic|fatal error): /;
/** The server warns about passwords in its configuration. Only the current user can read ours. */
const expectedWarning = 'Plaintext passwords detected';

/** After such an error the server stores nothing more in the stream. It reports this only in its log. */
const writeFailure = /no space left on device|critical write error/i;

/** Copies the server's log lines into our log. */
function forwardOutput(child: ChildProcess, log: Logger) {
  let hasFailed = false;
  let output = '';
  let rest = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-outputCharactersMax);
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(-outputCharactersMax);
    for (const line of lines) {
      const [, mark = '', text = line] = /^(?:\[\d+\] )?\[([A-Z]{3})\] (.*)$/.exec(line) ?? [];
      hasFailed ||= mark === 'ERR' && writeFailure.test(text);
      const level = crash.test(line) ? 'error' : (levels[mark] ?? 'debug');
      log[text.startsWith(expectedWarning) ? 'debug' : level]({ line: text }, 'nats-server');
    }
  });
  return {
    lastLines: () => output.trimEnd().split('\n').slice(-errorLinesMax).join('\n'),
    hasFailedToWrite: () => hasFailed,
  };
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen({ host: '127.0.0.1', port, exclusive: true });
    await once(probe, 'listening');
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code !== 'EADDRINUSE'; // leave other errors to the server
  } finally {
    if (probe.listening) {
      probe.close();
      await once(probe, 'close');
    }
  }
}
