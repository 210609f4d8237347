/**
 * Our own nats-server, as a child process on loopback, with its store in a folder of ours: the bus of `stopgate dev`
 * and `serve --embedded`. It ends no process except a nats-server that runs on this store's own configuration.
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
import {
  credentialsFile,
  keepCredentials,
  type ServerConfig,
  serverConfig,
  writePrivately,
} from './embedded-config.ts';
import { endLeftServer } from './left-server.ts';
import { findBinary, howToUpdate, isUnsafe, type SearchEnvironment } from './server-binary.ts';
import {
  end,
  nameServer,
  type Running,
  type ServerExit,
  type SuperviseOptions,
  superviseServer,
} from './server-process.ts';
import { lockStore } from './store-lock.ts';
import { openStoreSpace, watchStore } from './store-space.ts';

export type EmbeddedServerOptions = {
  /** Made with mode 0700 if missing. */
  readonly storeDir: string;
  /** The folder of the stopgate.yaml that its service follows; the server's name contains it. Default: the store. */
  readonly folder?: string | undefined;
  /** `null`: 4222 if it is free, else any free one; 0: any free one. */
  readonly port: number | null;
  /** Its log is what anonymous clients may read but not change. */
  readonly fleet: string;
  readonly log: Logger;
  /** Called when the store is ours, before the server starts. What it throws ends the start. */
  readonly beforeStart?: () => Promise<void>;
  /** Its PATH, its cache folder and `STOPGATE_NATS_SERVER` say where the program is. */
  readonly env: SearchEnvironment;
  /** The program; default: what `findBinary` finds. */
  readonly binary?: string | undefined;
  /** Decides how often a server that has ended by itself is started again. */
  readonly keeping?: Omit<SuperviseOptions, 'log'> | undefined;
};

export type EmbeddedServer = {
  readonly url: string;
  readonly port: number;
  /** The JSON file with user and password of a role, readable by this user alone. */
  credentials(role: Role): string;
  /** Resolves when the server is gone for good: after `close`, or if it cannot be started again. Never rejects. */
  readonly closed: Promise<ServerExit>;
  /** SIGTERM, then SIGKILL after 3 s; unlocks the store. May be called again. */
  close(): Promise<void>;
};

const usualPort = 4222;
const anyPort = -1;
const readyTimeoutMs = 120_000; // a start takes 50 ms; the recovery of a store of many GB takes minutes
const outputCharactersMax = 8_192;
const errorLinesMax = 10;

/**
 * @throws AppError server.missing: there is no nats-server, it is too old, or it does not start
 * @throws AppError config.bad: the port is taken, another stopgate runs on this store, or it is no folder of ours
 */
export async function openEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { fleet, log, env } = options;
  const found = await findBinary(env, options.binary);
  const { path: binary, version } = found;
  if (isUnsafe(found))
    log.warn(
      { version: version.join('.'), path: binary },
      `any client can end this nats-server, or delete the log, by one message; install a current one and start again: ${howToUpdate(env)}`,
    );
  const storeDir = await makeStore(options.storeDir);
  const portsDir = join(storeDir, 'ports');
  const place: Place = {
    binary,
    portsDir,
    pidFile: join(storeDir, 'nats-server.pid'),
    configFile: join(storeDir, 'nats-server.conf'),
  };
  const lock = await lockStore(storeDir);
  try {
    await options.beforeStart?.();
    const ended = await endLeftServer(place.pidFile, serverArgs(place));
    if (ended !== undefined) log.warn({ pid: ended }, 'ended the nats-server of a stopgate that was killed');
    for (const folder of [portsDir, join(storeDir, 'jetstream')]) await mkdir(folder, { recursive: true, mode: 0o700 });
    const credentials = await keepCredentials(storeDir);
    const space = await openStoreSpace(storeDir);
    const start = async (ports: readonly number[]) => {
      const config = {
        name: nameServer(options.folder ?? storeDir),
        storeDir,
        portsDir,
        fleet,
        credentials,
        storeBytesMax: await space.allot(),
        version,
      };
      const started = await launchOn(ports, place, config, log);
      log.info({ pid: started.child.pid, port: started.port, storeDir }, 'nats-server started');
      return started;
    };
    const first = await start(portsFor(options.port));
    const { port } = first;
    const url = `nats://127.0.0.1:${port}`;
    const { closed, restart, close, hasFailedToWrite } = superviseServer(first, () => start([port]), {
      log,
      ...options.keeping,
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
    if (options.port === null && port !== usualPort)
      log.warn({ port }, `port ${usualPort} is taken, so NATS listens on ${port}; choose another with --port`);
    const stop = async () => {
      storeWatch.close();
      await close();
      await rm(place.pidFile, { force: true });
      await space.close();
      await lock.release();
    };
    let stopped: Promise<void> | undefined;
    return {
      url,
      port,
      closed,
      credentials: (role) => credentialsFile(storeDir, role),
      close() {
        stopped ??= stop(); // once: later the lock may belong to another process
        return stopped;
      },
    };
  } catch (cause) {
    await lock.release();
    throw cause;
  }
}

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

type Place = {
  readonly binary: string;
  readonly portsDir: string;
  readonly pidFile: string;
  readonly configFile: string;
};

/** All arguments: they identify a server that was left behind. */
const serverArgs = ({ configFile }: Place) => ['-c', configFile];

/** Starts on the first of these ports that is free. */
async function launchOn(
  [port = anyPort, ...others]: readonly number[],
  place: Place,
  config: Omit<ServerConfig, 'port'>,
  log: Logger,
): Promise<Running> {
  const taken = async () => port !== anyPort && !(await isFree(port));
  let failure: unknown;
  if (!(await taken())) {
    try {
      await writePrivately(place.configFile, serverConfig({ ...config, port }));
      return await launch(place, log);
    } catch (cause) {
      // Another process may have been faster. The server reports that as text only, so the port is tried here.
      if (!(await taken())) throw cause;
      failure = cause;
    }
  }
  if (others.length > 0) return launchOn(others, place, config, log);
  throw new AppError(
    'config.bad',
    `port ${port} on 127.0.0.1 is taken by another process; name another port for the embedded nats-server`,
    {
      cause: failure,
    },
  );
}

/** Starts the process and waits until it takes connections. */
async function launch(place: Place, log: Logger): Promise<Running> {
  for (const left of await readdir(place.portsDir)) await rm(join(place.portsDir, left), { force: true });
  const changes = watch(place.portsDir); // before the spawn, so that no change is missed
  // A process group of its own: Ctrl-C in a terminal goes to a whole group, and the bus must outlive its clients.
  const child = spawn(place.binary, serverArgs(place), { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  const { lastLines, hasFailedToWrite } = forwardOutput(child, log);
  const closed = watchEnd(child, lastLines);
  try {
    if (child.pid === undefined) await once(child, 'spawn'); // throws why not
    await writePrivately(place.pidFile, `${child.pid}\n`);
    return { child, closed, hasFailedToWrite, port: await awaitPort(place.portsDir, changes, closed) };
  } catch (cause) {
    await end(child);
    throw notStarted(place.binary, cause as Error, (await closed).lastLines);
  }
}

const notStarted = (binary: string, cause: Error, lastLines: string) =>
  new AppError('server.missing', `${binary} did not start: ${cause.message}\n${lastLines}`.trimEnd(), { cause });

function watchEnd(child: ChildProcess, lastLines: () => string): Promise<ServerExit> {
  const onExit = () => child.kill('SIGTERM'); // if `close` was not called
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

/** The server writes its ports to a file once it takes connections. */
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
/** Why Go ended it, in the first of hundreds of lines. */
const crash = /^(?:panic|fatal error): /;
/** The server warns about every file with passwords. Only this user can read ours. */
const expectedWarning = 'Plaintext passwords detected';

/** After it a server stores nothing more in that stream, and tells that as text only. */
const writeFailure = /no space left on device|critical write error/i;

/** Puts the server's lines into our log. */
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
    return (cause as NodeJS.ErrnoException).code !== 'EADDRINUSE'; // anything else the server reports better than we could
  } finally {
    if (probe.listening) {
      probe.close();
      await once(probe, 'close');
    }
  }
}
