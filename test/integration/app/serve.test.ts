/** `stopgate serve`: its requirements on NATS and the messages if they are not met, replicas, and its end. */
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { deploy, makeFolder } from '../../support/deployment.ts';
import type { NatsServerOptions } from '../../support/nats-server.ts';
import { endService, startService } from '../../support/service.ts';
import { openNats } from '../../support/shared-server.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const openFolder = async (files: Record<string, string> = {}) => {
  const folder = await makeFolder(files);
  ends.push(() => folder.remove());
  return folder;
};
const openServer = async (options?: NatsServerOptions) => {
  const server = await openNats(options);
  ends.push(() => server.stop());
  return server;
};
const connect = async (url: string): Promise<Client> => {
  const client = await openClient(url);
  ends.push(() => client.close());
  return client;
};
const serve = async (nats: string, args: readonly string[] = [], cwd?: string) => {
  const service = await startService(
    ['serve', '--nats', nats, '--http', 'off', ...args],
    cwd ?? (await openFolder()).path,
  );
  ends.push(() => endService(service));
  return service;
};
/** A start that must fail. */
const failing = async (nats: string, args: readonly string[] = []) => {
  const folder = await openFolder();
  return runCommand(['serve', '--nats', nats, '--http', 'off', ...args], { cwd: folder.path });
};

describe('a start that cannot succeed', () => {
  test('no NATS server: exit code 3 and one clear line, at once', async () => {
    const { code, stdout, stderr } = await failing('nats://127.0.0.1:1');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^stopgate: no NATS server at nats:\/\/127\.0\.0\.1:1: .*--nats$/),
    ]);
  });

  test('wrong credentials: exit code 3, and no password in the message', async () => {
    const server = await openServer({ args: ['--user', 'ann', '--pass', 'right'] });
    const { code, stderr } = await failing(`nats://ann:wrong-password@127.0.0.1:${server.port}`);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/authorization/i) });
    expect(stderr).not.toContain('wrong-password');
  });

  test.each([
    ['server', { args: ['-js=false'] }],
    ['account', { config: 'accounts { A { users: [{ user: a, password: a }] } }\nno_auth_user: a\n' }],
  ])('a NATS %s without JetStream: exit code 3, and a hint', async (_what, options) => {
    const server = await openServer(options);
    const { code, stdout, stderr } = await failing(server.url);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(
      'JetStream does not answer on this NATS server; start it with "nats-server -js", and check the account',
    );
  });

  test('a stream with that name and other settings: exit code 2 and the settings', async () => {
    const server = await openServer();
    const { manager } = await connect(server.url);
    await manager.streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'], max_msgs: 10 });
    const { code, stderr } = await failing(server.url);
    expect(code).toBe(2);
    expect(stderr).toMatch(/STOPGATE_main exists with other settings .*max_msgs is 10, not -1.*--fleet/);
    // It ends with that message and does not retry.
    expect(stderr).not.toMatch(/trying again|^\s+at /m);
    expect((await manager.streams.info('STOPGATE_main')).config.max_msgs).toBe(10);
    await serve(server.url, ['--fleet', 'other']);
  });

  test('a stream that captures requests: exit code 2 and its name', async () => {
    const server = await openServer();
    const { manager } = await connect(server.url);
    for (const subject of ['stopgate.main.decide.*', 'stopgate.*.get.>', '*.main.>']) {
      // Newer servers let a stream capture all requests only if it acknowledges nothing.
      await manager.streams.add({ name: 'NOSY', subjects: [subject], no_ack: true });
      const failed = await failing(server.url);
      expect(failed, subject).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/NOSY/) });
      await manager.streams.delete('NOSY');
    }
  });

  test('a port that is in use: exit code 2, and no endpoint remains on NATS', async () => {
    const server = await openServer();
    const client = await connect(server.url);
    const holder = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(holder, 'listening');
    onTestFinished(() => void holder.close());
    const taken = await failing(server.url, ['--http', `127.0.0.1:${(holder.address() as AddressInfo).port}`]);
    expect(taken).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('cannot listen on 127.0.0.1') });
    await expect(client.ask('decide.w1')).rejects.toThrow(/no responders/);
  });
});

describe('--embedded', () => {
  test('starts a nats-server, which commands in the folder find, and stops it at the end', async () => {
    const folder = await openFolder();
    const service = await startService(['serve', '--embedded', '--port', '0', '--http', 'off'], folder.path);
    ends.push(() => endService(service));
    expect(service.ready).toEqual({ ready: true, nats: expect.stringMatching(/^nats:/), http: null, fleet: 'main' });
    expect(service.stderr()).not.toContain('In another terminal'); // hints are for `dev`
    expect(await runCommand(['decide', 'w1'], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(await service.kill('SIGTERM')).toBe(0);
    await expect(access(join(folder.path, '.stopgate', 'service.json'))).rejects.toThrow();
    expect(await runCommand(['decide', 'w1', '--nats', service.ready.nats], { cwd: folder.path })).toMatchObject({
      code: 3,
    });
  });

  test('cannot be combined with --nats', async () => {
    expect(await failing('nats://127.0.0.1:1', ['--embedded'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('two replicas', () => {
  test('are both discovered by the micro protocol, and share the requests', async () => {
    const server = await openServer();
    const client = await connect(server.url);
    await serve(server.url, ['--replica', 'ra']);
    await serve(server.url, ['--replica', 'rb']);
    const discover = async (verb: string) => {
      const found: {
        id: string;
        type: string;
        name: string;
        endpoints?: { name: string; subject: string; num_requests: number }[];
      }[] = [];
      const asked = await client.nc.requestMany(`$SRV.${verb}.stopgate`, '', {
        strategy: 'count',
        maxMessages: 2,
        maxWait: 5_000,
      });
      for await (const message of asked) found.push(message.json());
      return found.sort((a, b) => a.id.localeCompare(b.id));
    };
    expect(await discover('PING')).toMatchObject(
      ['ra', 'rb'].map((id) => ({ id, name: 'stopgate', type: 'io.nats.micro.v1.ping_response' })),
    );
    for (const info of await discover('INFO')) {
      const subjects = ['decide', 'probe', 'verify', 'get', 'list'].map((verb) => `stopgate.main.${verb}.>`);
      expect(info.endpoints?.map(({ subject }) => subject)).toEqual(expect.arrayContaining(subjects));
    }

    const decided = await Promise.all(Array.from({ length: 40 }, (_, index) => client.ask(`decide.w${index}`)));
    expect(new Set(decided.map(({ body }) => body.replica))).toEqual(new Set(['ra', 'rb']));
    const served = (await discover('STATS')).map(
      ({ endpoints }) => endpoints?.find(({ name }) => name === 'decide')?.num_requests ?? 0,
    );
    expect(served[0]).toBeGreaterThan(0);
    expect(served.reduce((sum, count) => sum + count, 0)).toBe(40);
  });

  test('share their state: each answers what the other stored, and one alone continues', async () => {
    const server = await openServer();
    const folder = await openFolder({ 'stopgate.yaml': 'policies: { default: { checks: [{ plan: {} }] } }\n' });
    const client = await connect(server.url);
    const first = await serve(server.url, ['--replica', 'ra'], folder.path);
    await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    const { body } = await client.ask('decide.w1', { attempt: 'a1' });
    await serve(server.url, ['--replica', 'rb'], folder.path);
    expect(await first.kill('SIGTERM')).toBe(0);
    const { tookMs: _, ...decided } = body;
    expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject(decided);
    expect((await client.ask('decide.w1', { attempt: 'a2' })).body).toMatchObject({
      replica: 'rb',
      retry: { count: 2 },
    });
    expect(await client.stored('STOPGATE_main', 'stopgate.main.own.fleet.main.policy.set')).toHaveLength(1);
    const came = await client.stored('STOPGATE_main', 'stopgate.main.own.fleet.main.replica.*');
    expect(came.map(({ replica }) => replica)).toEqual(['ra', 'rb', 'ra']);
  });
});

describe('its end', () => {
  test('SIGTERM ends it with exit code 0; a held stop is answered at once', async () => {
    const config = 'policies: { default: { persistence: { idle: 10m, hold: 25s } } }\n';
    const at = await deploy({ config });
    ends.push(() => at.close());
    const waiting = at.client.ask('decide.w1', { attempt: 'a1' });
    await expect.poll(async () => (await at.client.ask('get.worker.w1')).body.state).toBe('validating');
    expect(await at.service.kill('SIGTERM')).toBe(0);
    expect(await waiting).toMatchObject({ code: '503', body: { error: { code: 'UNAVAILABLE' } } });
  });

  test('it also ends in time while its NATS server is gone', async () => {
    const at = await deploy({ nats: {} });
    ends.push(() => at.close());
    await at.client.ask('decide.w1');
    await at.server.kill('SIGKILL');
    expect(await at.service.kill('SIGTERM')).toBe(0);
  });
});
