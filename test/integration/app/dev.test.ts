/** `stopgate dev`: ready in one line, open to agents and closed to impostors, found by commands. */
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PermissionViolationError } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import { clear, connect, type Dev, exists, inStore, ownFolder, serverPid, startDev } from '../../support/dev.ts';
import { openStdioClient } from '../../support/mcp-client.ts';
import { openTerminal } from '../../support/terminal.ts';
import { isRunning } from '../runner/workspace.ts';

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

  test('prints exactly one ready line on stdout', async () => {
    const { nats, http } = dev.ready;
    expect(dev.stdout()).toBe(`{"ready":true,"nats":"${nats}","http":"${http}","fleet":"main"}\n`);
    for (const url of [nats, http]) expect(url).toMatch(/^(nats|http):\/\/127\.0\.0\.1:\d{4,5}$/);
    expect((await fetch(`${http}/readyz`)).status).toBe(200);
  });

  test('writes its addresses to the store, readable by its owner only', async () => {
    const { nats, http } = dev.ready;
    const file = inStore(folder, 'service.json');
    await expect.poll(() => exists(file)).toBe(true);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ nats, http, fleet: 'main', pid: dev.pid });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('keeps its log and credentials out of git', async () => {
    expect(await readFile(join(folder.path, '.stopgate', '.gitignore'), 'utf8')).toBe('*\n');
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

  test('an agent may neither publish as the service nor change the log', async () => {
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
    await expect.poll(() => refused).toEqual(forged);
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
    // An operator's entries and the log need credentials, which are found, too.
    expect(await cli('publish', 'own', 'worker', 'c1', 'worker.retired', '{"by":"ann"}')).toMatchObject({ code: 0 });
    const tail = startCommand(['tail', '--json', '--worker', 'c1'], { cwd: folder.path });
    await tail.printed('worker.retired');
    expect(await tail.kill('SIGINT')).toBe(0);
    expect(linesOf(tail.stdout()).map((line) => line.subject)).toContain('stopgate.main.decision.c1');
  });

  test('an entry that is not valid now is stored, and the command says so', async () => {
    const claim = (worker: string) => cli('publish', 'worker', worker, 'task.claimed', '{"task":"T-1"}');
    expect(await claim('w1')).toMatchObject({
      code: 0,
      stderr: 'stopgate: task T-1 did not exist; the claim created it\n',
    });
    expect(await claim('w2')).toMatchObject({
      code: 0,
      stderr: 'stopgate: the entry was stored, but changes nothing: task T-1 is held by w1\n',
    });
  });

  test('an entry that was not valid is listed, and marked in the log', async () => {
    const client = await connect(dev);
    await client.publish('worker.w5.tool.used', { tool: 5 });
    await expect
      .poll(async () => (await cli('dead-letters', '--worker', 'w5')).stdout)
      .toMatch(/worker\.w5\.tool\.used +tool: must be a string, not 5/);
    const narrow = await openTerminal({ isTTY: true, columns: 60, cwd: folder.path });
    expect(await narrow.run('dead-letters', '--worker', 'w5')).toBe(0);
    expect(narrow.stdout()).toMatch(/\dZ {2}#\d+ /); // its time is not shortened
    const asJson = await cli('dead-letters', '--worker', 'w5', '--json');
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      code: 'BAD_SHAPE',
      subject: 'stopgate.main.worker.w5.tool.used',
    });
    expect((await cli('dead-letters', '--worker', 'w6')).stdout).toBe(
      "No dead letters in fleet 'main' about worker w6\n",
    );
    const followed = await cli('tail', '--no-follow', '--worker', 'w5');
    expect(followed.stdout).toContain('not valid, so it changes nothing: tool: must be a string, not 5');
  });

  test('a second one on the same store is refused, and names the first', async () => {
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

  test('Ctrl-C ends it with exit code 0, and leaves no process and no address file', async () => {
    const folder = await ownFolder();
    const dev = await start(folder);
    const pid = await serverPid(folder);
    expect(await isRunning(pid)).toBe(true);
    // Root cause of a process that never ended: its last entry came back from the log and set the timer of a known
    // worker.
    expect((await (await connect(dev)).ask('decide.w1')).body).toMatchObject({ decision: 'allow' });
    expect(await dev.kill('SIGINT')).toBe(0);
    expect(await isRunning(pid)).toBe(false);
    for (const name of ['service.json', 'nats-server.pid', 'lock'])
      expect([name, await exists(inStore(folder, name))]).toEqual([name, false]);
  });

  test('with --idle-exit it ends when nobody uses it', async () => {
    const folder = await ownFolder();
    const dev = startCommand(['dev', '--port', '0', '--http', 'off', '--idle-exit', '100ms'], { cwd: folder.path });
    expect(await dev.ended).toBe(0);
    expect(linesOf(dev.stderr())).toContainEqual(expect.objectContaining({ msg: 'stopping', why: 'idle' }));
  });

  test('a restart keeps what was stored', async () => {
    const folder = await ownFolder();
    const first = await start(folder);
    const before = await connect(first);
    await before.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    const { body: decided } = await before.ask('decide.w1', { attempt: 'a1' });
    await before.close();
    expect(await first.kill('SIGINT')).toBe(0);

    const second = await start(folder);
    const after = await connect(second);
    expect((await after.ask('get.worker.w1')).body).toMatchObject({ plan: [{ title: 'Write tests' }] });
    expect((await after.ask('decide.w1', { attempt: 'a1' })).body).toEqual(decided);
  });

  // Root cause: the note about the log is in a stream, so it was lost with the log, and an empty log was created
  // silently.
  test('a restart is refused if all its streams are gone, until the loss is accepted or the whole store is removed', async () => {
    const folder = await ownFolder();
    const args = ['dev', '--port', '0', '--http', 'off'];
    const turn = async (...more: string[]) => {
      const dev = startCommand([...args, ...more], { cwd: folder.path });
      await Promise.race([dev.printed('"ready":true').catch(() => undefined), dev.ended]);
      const code = await dev.kill('SIGINT');
      return { code, stderr: dev.stderr() };
    };
    expect(await turn()).toMatchObject({ code: 0 });
    await rm(inStore(folder, 'jetstream'), { recursive: true });
    const refused = {
      code: 3,
      stderr: expect.stringMatching(/STOPGATE_main existed before and is gone.*--accept-empty-log/),
    };
    expect(await turn()).toMatchObject(refused);
    expect(await turn()).toMatchObject(refused); // no log was created
    expect(await turn('--accept-empty-log')).toMatchObject({ code: 0 });
    expect(await turn()).toMatchObject({ code: 0 });
    await rm(inStore(folder, 'jetstream'), { recursive: true });
    expect(await turn()).toMatchObject(refused);
    await rm(inStore(folder, '.'), { recursive: true });
    expect(await turn()).toMatchObject({ code: 0 });
  });

  test('after its end, commands in its folder connect nowhere else; the MCP tools start, and say what is missing until it is back', async () => {
    const folder = await ownFolder();
    expect(await (await start(folder)).kill('SIGINT')).toBe(0);
    expect(await runCommand(['decide', 'w1'], { cwd: folder.path })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('is not running'),
    });
    const mcp = await openStdioClient(['--worker', 'w1'], folder.path);
    onTestFinished(() => mcp.close());
    expect(await mcp.call('task_claim', { taskId: 'A-1' })).toMatchObject({
      isError: true,
      text: expect.stringContaining(`the service of ${folder.path} is not running; start "npx stopgate dev" there`),
    });
    const again = await start(folder);
    expect(await mcp.ok('task_claim', { taskId: 'A-1' })).toMatchObject({ worker: 'w1', refused: [] });
    expect(await again.kill('SIGINT')).toBe(0);
  });

  test('it restarts its nats-server if that dies, for example for lack of memory', async () => {
    const folder = await ownFolder();
    const dev = await start(folder);
    const decide = (attempt: string) =>
      runCommand(['decide', 'w1', '--attempt', attempt, '--json'], { cwd: folder.path });
    const before = await decide('a1');
    expect(before).toMatchObject({ code: 0 });
    process.kill(await serverPid(folder), 'SIGKILL');
    await expect.poll(async () => (await decide('a2')).code).toBe(0);
    const { seq, at } = JSON.parse(before.stdout) as { seq: number; at: string };
    expect(JSON.parse((await decide('a1')).stdout)).toMatchObject({ attempt: 'a1', seq, at });
    expect(linesOf(dev.stderr())).toContainEqual(
      expect.objectContaining({ msg: 'nats-server exited unexpectedly; restarting it', signal: 'SIGKILL' }),
    );
    expect(await dev.kill('SIGINT')).toBe(0);
  });
});
