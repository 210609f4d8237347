/** `stopgate dev` as it is shipped: ready in one line, open to agents and closed to impostors, found by commands. */
import { execFile } from 'node:child_process';
import { access, chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PermissionViolationError } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isRunning } from '../integration/runner/workspace.ts';
import { type Client, openClient } from '../support/client.ts';
import { type Command, runCommand, startCommand } from '../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../support/deployment.ts';
import { main } from '../support/service-process.ts';

type Ready = { readonly ready: true; readonly nats: string; readonly http: string; readonly fleet: string };
type Dev = Command & { readonly ready: Ready; readonly tookMs: number };

async function startDev(folder: Folder): Promise<Dev> {
  const startedMs = performance.now();
  const command = startCommand(['dev', '--port', '0', '--http', '127.0.0.1:0'], { cwd: folder.path });
  await command.printed(/"ready":true.*\n/);
  const tookMs = performance.now() - startedMs;
  return { ...command, tookMs, ready: JSON.parse(command.stdout()) as Ready };
}

const inStore = (folder: Folder, name: string) => join(folder.path, '.stopgate', name);
const serverPid = async (folder: Folder) => Number(await readFile(inStore(folder, 'nats-server.pid'), 'utf8'));
const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

/** Whatever a test did: no nats-server of its folder goes on, and the folder goes. */
async function clear(folder: Folder): Promise<void> {
  const pid = await serverPid(folder).catch(() => 0);
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  if (pid > 1 && line.includes(folder.path)) process.kill(pid, 'SIGKILL');
  await folder.remove();
}

async function ownFolder(): Promise<Folder> {
  const folder = await makeFolder();
  onTestFinished(() => clear(folder));
  return folder;
}

async function connect({ ready }: Dev): Promise<Client> {
  const client = await openClient(ready.nats);
  onTestFinished(() => client.close());
  return client;
}

describe('while it runs', () => {
  let folder: Folder;
  let dev: Dev;
  const cli = (...args: string[]) => runCommand(args, { cwd: folder.path });

  beforeAll(async () => {
    folder = await makeFolder();
    dev = await startDev(folder);
  });
  afterAll(async () => {
    const code = await dev.kill('SIGINT');
    await clear(folder);
    expect(code).toBe(0);
  });

  test('says on stdout that it is ready, in one line and nothing else', async () => {
    const { nats, http } = dev.ready;
    expect(dev.stdout()).toBe(`{"ready":true,"nats":"${nats}","http":"${http}","fleet":"main"}\n`);
    for (const url of [nats, http]) expect(url).toMatch(/^(nats|http):\/\/127\.0\.0\.1:\d{4,5}$/);
    expect((await fetch(`${http}/readyz`)).status).toBe(200);
  });

  test('leaves its addresses in the store, for its owner alone', async () => {
    const { nats, http } = dev.ready;
    const file = inStore(folder, 'service.json');
    await expect.poll(() => exists(file), { timeout: 10_000 }).toBe(true);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ nats, http, fleet: 'main', pid: dev.pid });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('an agent without credentials publishes, asks, and hears decisions', async () => {
    const client = await connect(dev);
    const heard = client.nc.subscribe('stopgate.main.decision.>', { max: 1 });
    await client.nc.flush();
    expect(await client.publish('worker.a1.tool.used', { tool: 'Bash' })).toMatchObject({ duplicate: false });
    const { code, body } = await client.ask('decide.a1', { attempt: 'first' });
    expect({ code, ...body }).toMatchObject({ code: '', worker: 'a1', attempt: 'first', decision: 'allow' });
    for await (const message of heard) expect(message.json()).toEqual(body);
    expect((await client.ask('get.worker.a1')).body).toMatchObject({ worker: 'a1', toolCount: 1 });
  });

  test('it may not speak for the service, nor touch the log', async () => {
    const client = await connect(dev);
    const refused: string[] = [];
    void (async () => {
      for await (const status of client.nc.status()) {
        if (status.type === 'error' && status.error instanceof PermissionViolationError)
          refused.push(status.error.subject);
      }
    })();
    const before = (await client.manager.streams.info('STOPGATE_main')).state;
    const forged = ['own.worker.a1.worker.retired', 'decision.a1', 'dead.worker.a1'].map(
      (tail) => `stopgate.main.${tail}`,
    );
    for (const subject of forged) client.nc.publish(subject, '{"by":"nobody"}');
    await expect.poll(() => refused, { timeout: 10_000 }).toEqual(forged);
    await expect(client.manager.streams.delete('STOPGATE_main')).rejects.toThrow();
    await expect(client.manager.streams.purge('STOPGATE_main')).rejects.toThrow();
    expect(refused.slice(forged.length)).toEqual(
      ['DELETE', 'PURGE'].map((call) => `$JS.API.STREAM.${call}.STOPGATE_main`),
    );
    expect((await client.manager.streams.info('STOPGATE_main')).state).toMatchObject({
      first_seq: 1,
      messages: before.messages,
    });
  });

  test('commands in its folder find it without options', async () => {
    expect(await cli('publish', 'worker', 'c1', 'tool.used', '{"tool":"Bash"}')).toMatchObject({ code: 0, stderr: '' });
    const decided = await cli('decide', 'c1', '--json');
    expect(JSON.parse(decided.stdout)).toMatchObject({ worker: 'c1', decision: 'allow', cause: 'no-policy' });
    expect(await cli('verify', 'c1')).toMatchObject({ code: 0 });
    expect((await cli('workers')).stdout).toMatch(/^c1 +stopped +active/m);
    expect(await cli('worker', 'nobody')).toMatchObject({ code: 1 });
    // An operator's words and the log itself need credentials, which are found too.
    expect(await cli('publish', 'own', 'worker', 'c1', 'worker.retired', '{"by":"ann"}')).toMatchObject({ code: 0 });
    const tail = startCommand(['tail', '--json', '--worker', 'c1'], { cwd: folder.path });
    await tail.printed('worker.retired');
    expect(await tail.kill('SIGINT')).toBe(0);
    expect(linesOf(tail.stdout()).map((line) => line.subject)).toContain('stopgate.main.decision.c1');
  });

  test('the five lines that it prints can be pasted, and lead from a rule to a stop that is blocked, then allowed', async () => {
    await dev.printed('Ctrl-C ends it');
    const lines = dev
      .stderr()
      .split('\n')
      .filter((line) => /^ {2}\S/.test(line));
    expect(lines).toHaveLength(5);
    const npx = await folder.write('bin/npx', `#!/bin/sh\nshift\nexec '${process.execPath}' '${main}' "$@"\n`);
    await chmod(npx, 0o755);
    const env = { PATH: `${join(folder.path, 'bin')}:/usr/bin:/bin`, HOME: folder.path };
    const paste = (line = '') =>
      promisify(execFile)('sh', ['-c', line], { cwd: folder.path, env }).then(
        ({ stdout }) => ({ code: 0, stdout }),
        ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
      );
    const [rule, planStep, decide, doStep, look] = lines;
    expect(await paste(rule)).toMatchObject({ code: 0 });
    await dev.printed('the configuration has changed');
    expect(await paste(planStep)).toMatchObject({ code: 0 });
    expect(await paste(decide)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('1 of 1 plan steps remain: Write tests'),
    });
    expect(await paste(doStep)).toMatchObject({ code: 0 });
    expect(await paste(decide)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('allow · complete · complete'),
    });
    expect(await paste(look)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/w1 · stopped[\s\S]*✓ Write tests/),
    });
  });

  test('a second one on the same store is refused, and says by whom', async () => {
    const second = await runCommand(['dev', '--port', '0', '--http', 'off'], { cwd: folder.path });
    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toContain(`another stopgate (process ${dev.pid})`);
    expect(await cli('decide', 'c2')).toMatchObject({ code: 0 });
  });
});

describe('its end', () => {
  const running: Dev[] = [];
  const start = async (folder: Folder) => {
    const dev = await startDev(folder);
    running.push(dev);
    return dev;
  };
  afterEach(async () => {
    for (const dev of running.splice(0)) await dev.kill('SIGINT');
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends it with 0, and leaves no process and no address',
    async (signal) => {
      const folder = await ownFolder();
      const dev = await start(folder);
      const pid = await serverPid(folder);
      expect(await isRunning(pid)).toBe(true);
      // Root cause of a process that never ended: its farewell came back from the log and set the timer of a known worker.
      expect((await (await connect(dev)).ask('decide.w1')).body).toMatchObject({ decision: 'allow' });
      expect(await dev.kill(signal)).toBe(0);
      expect(await isRunning(pid)).toBe(false);
      for (const name of ['service.json', 'nats-server.pid', 'lock'])
        expect([name, await exists(inStore(folder, name))]).toEqual([name, false]);
    },
  );

  test('a restart keeps what was stored, and is quick', async () => {
    const folder = await ownFolder();
    const first = await start(folder);
    const before = await connect(first);
    await before.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    const { body: decided } = await before.ask('decide.w1', { attempt: 'a1' });
    await before.close();
    expect(await first.kill('SIGINT')).toBe(0);

    const second = await start(folder);
    // It takes 0.6 s of the 2 s; a machine with much else to do showed that at the first start.
    expect(second.tookMs).toBeLessThan(2_000 + first.tookMs);
    const after = await connect(second);
    expect((await after.ask('get.worker.w1')).body).toMatchObject({ plan: [{ title: 'Write tests' }] });
    expect((await after.ask('decide.w1', { attempt: 'a1' })).body).toEqual(decided);
  });

  test('once it has ended, commands in its folder do not ask whatever listens elsewhere', async () => {
    const folder = await ownFolder();
    const service = await start(folder);
    expect(await service.kill('SIGINT')).toBe(0);
    expect(await runCommand(['decide', 'w1'], { cwd: folder.path })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no service runs in'),
    });
  });

  test('its log and credentials are kept out of git', async () => {
    const folder = await ownFolder();
    const service = await start(folder);
    expect(await readFile(join(folder.path, '.stopgate', '.gitignore'), 'utf8')).toBe('*\n');
    expect(await service.kill('SIGINT')).toBe(0);
  });

  test('an entry that makes no sense is stored, and the command says so', async () => {
    const folder = await ownFolder();
    const service = await start(folder);
    const claim = (worker: string) =>
      runCommand(['publish', 'worker', worker, 'task.claimed', '{"task":"T-1"}'], { cwd: folder.path });
    expect(await claim('w1')).toMatchObject({ code: 0, stderr: '' });
    expect(await claim('w2')).toMatchObject({
      code: 0,
      stderr: 'stopgate: it is in the log, but changes nothing: task T-1 is held by w1\n',
    });
    expect(await service.kill('SIGINT')).toBe(0);
  });

  test('after kill -9 a new one takes the store over, with all that was acknowledged', async () => {
    const folder = await ownFolder();
    const first = await start(folder);
    const left = await serverPid(folder);
    const before = await connect(first);
    await before.publish('worker.w1.tool.used', { tool: 'Bash' });
    await before.close();
    expect(await first.kill('SIGKILL')).toBeNull();
    const nobody = await runCommand(['decide', 'w1'], { cwd: folder.path });
    expect(nobody).toMatchObject({ code: 3, stderr: expect.stringContaining('no stopgate service serves fleet') });

    const second = await start(folder);
    expect(await isRunning(left)).toBe(false);
    expect(second.stderr()).toContain('ended the nats-server of a stopgate that was killed');
    expect((await (await connect(second)).ask('get.worker.w1')).body).toMatchObject({ toolCount: 1 });
    expect(await runCommand(['decide', 'w1'], { cwd: folder.path })).toMatchObject({ code: 0 });
    const pid = await serverPid(folder);
    expect(await second.kill('SIGINT')).toBe(0);
    expect(await isRunning(pid)).toBe(false);
  });

  test('where its nats-server dies it ends too, with 3, and says why', async () => {
    const folder = await ownFolder();
    const dev = await start(folder);
    process.kill(await serverPid(folder), 'SIGKILL');
    expect(await dev.ended).toBe(3);
    expect(linesOf(dev.stderr())).toContainEqual(
      expect.objectContaining({ msg: 'stopping', why: 'nats-server has ended' }),
    );
    expect(await exists(inStore(folder, 'service.json'))).toBe(false);
  });
});
