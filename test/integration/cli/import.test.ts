/** `stopgate import` stores an exported log for a new service. Each entry keeps its sequence number. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { openLogImport } from '../../../src/nats/log/log-import.ts';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let folder: Folder;
beforeEach(async () => {
  server = await openNats({});
  client = await openClient(server.url);
  folder = await makeFolder();
});
afterEach(async () => {
  await client.close();
  await server.stop();
  await folder.remove();
});

const run = (...argv: string[]) => runCommand([...argv, '--nats', server.url], { cwd: folder.path });
/** Returns lines with these sequence numbers. */
const entries = (from: number, to: number): string[] =>
  Array.from(
    { length: to - from + 1 },
    (_, index) =>
      `{"seq":${from + index},"at":"2026-03-02T12:00:00.000Z","subject":"stopgate.main.worker.w1.heartbeat.sent","data":{}}\n`,
  );
const withoutTimes = (text: string) => linesOf(text).map(({ at: _at, ...line }) => line);

test('an imported log equals the exported one, and its service continues from there', async () => {
  const first = await startReplica({ nats: server.url });
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  await client.ask('decide.w1', { attempt: 'a1', output: '<promise>BLOCKED</promise>' });
  const decisions = () => client.stored('STOPGATE_main', 'stopgate.main.decision.w1');
  await expect.poll(async () => (await decisions()).length).toBe(1);
  await first.close();
  const { stdout: exported } = await run('export');
  await folder.write('log.jsonl', exported);

  const full = await run('import', 'log.jsonl');
  expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining("fleet 'main' already has a log with") });
  for (const { config } of await client.manager.streams.list().next()) await client.manager.streams.delete(config.name);

  // An archive of the first half of the log, followed by the whole log.
  const lines = exported.trimEnd().split('\n');
  await mkdir(join(folder.path, 'archive'));
  const half = Math.ceil(lines.length / 2);
  await writeFile(join(folder.path, 'archive', 'main.1.jsonl.gz'), gzipSync(`${lines.slice(0, half).join('\n')}\n`));
  const wrong = await run('import', 'archive', 'log.jsonl', '--fleet', 'other');
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("belongs to fleet 'main', and an import keeps the name; add --fleet main"),
  });
  const done = await run('import', 'archive', 'log.jsonl');
  expect(done).toMatchObject({
    code: 0,
    stdout: `imported ${lines.length} entries into fleet main\n`,
    stderr: '',
  });
  expect(withoutTimes((await run('export')).stdout)).toEqual(withoutTimes(exported));

  const second = await startReplica({ nats: server.url });
  const { body } = await client.ask('get.worker.w1');
  expect(body).toMatchObject({ lastDecision: { attempt: 'a1' }, plan: [{ title: 'Write tests', status: 'pending' }] });
  await second.close();
});

// A replica recognises the decision entry of an attempt by its message id. Exported lines have none, so a replica
// thought that every attempt of an imported log lacked its decision entry, and sent each decision to its agents a
// second time.
test('a decision of an imported log is not stored again, and stays as it is', async () => {
  const first = await startReplica({ nats: server.url });
  for (const attempt of ['a1', 'a2']) await client.ask('decide.w1', { attempt, output: '<promise>BLOCKED</promise>' });
  await client.ask('decide.w2', {});
  const decisions = () => client.stored('STOPGATE_main', 'stopgate.main.decision.>');
  await expect.poll(async () => (await decisions()).length).toBe(3);
  await first.close();
  // The last decision of w1, as another release might have made it.
  const exported = (await run('export')).stdout.replaceAll(/.*"attempt":"a2".*"decision":.*/g, (line) =>
    line.replace(/"cause":"[a-z-]+"/, '"cause":"complete"'),
  );
  await folder.write('log.jsonl', exported);
  for (const { config } of await client.manager.streams.list().next()) await client.manager.streams.delete(config.name);
  expect(await run('import', 'log.jsonl')).toMatchObject({ code: 0, stderr: '' });
  const imported = await decisions();

  const second = await startReplica({ nats: server.url });
  // Overdue decisions would be published before this one.
  await client.ask('decide.w3', { attempt: 'a1' });
  const ofW3 = () => client.stored('STOPGATE_main', 'stopgate.main.decision.w3');
  await expect.poll(async () => (await ofW3()).length).toBe(1);
  expect(await decisions()).toEqual([...imported, ...(await ofW3())]);
  const [a1, a2] = imported;
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toEqual(a1);
  const { replica: _replica, tookMs: _tookMs, ...ofTheLog } = a2 as Record<string, unknown>;
  expect(ofTheLog).toMatchObject({ attempt: 'a2', cause: 'complete' });
  expect((await client.ask('get.worker.w1')).body).toMatchObject({ lastDecision: ofTheLog });
  await second.close();
});

test('a log without its beginning, or a file that is not a log, is refused before anything is stored', async () => {
  await folder.write(
    'tail.jsonl',
    '{"seq":7,"at":"2026-03-02T12:00:00.000Z","subject":"stopgate.main.worker.w1.heartbeat.sent","data":{}}\n',
  );
  await folder.write('none.jsonl', '{"hello":1}\n');
  const cut = await run('import', 'tail.jsonl');
  expect(cut).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('tail.jsonl, line 1: expected entry 1 but found 7'),
  });
  expect(await run('import', 'none.jsonl')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('none.jsonl, line 1: "seq"'),
  });
  await folder.write('empty.jsonl', '\n');
  expect(await run('import', 'empty.jsonl')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'stopgate: no entries in empty.jsonl; pass the output of "npx stopgate export"\n',
  });
  // The gap comes after the first chunk that is read.
  const late = [...entries(1, 1_000), ...entries(1_002, 1_002)];
  await folder.write('late.jsonl', late.join(''));
  expect(await run('import', 'late.jsonl')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('late.jsonl, line 1001: expected entry 1001 but found 1002'),
  });
  expect((await client.manager.streams.list().next()).length).toBe(0);
});

test('stdin is also checked completely before anything is stored', async () => {
  const importing = (...parts: string[]) =>
    runCommand(['import', '-', '--nats', server.url], { cwd: folder.path, stdin: Readable.from(parts) });
  expect(await importing(entries(1, 2).join(''), entries(4, 4).join(''))).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('line 3: expected entry 3 but found 4'),
  });
  expect((await client.manager.streams.list().next()).length).toBe(0);
  expect(await importing(entries(1, 2).join(''))).toMatchObject({ code: 0, stderr: '' });
});

test('a log whose decisions would change with the time of the import is refused', async () => {
  const line = (seq: number, at: string, tail: string, data: object) =>
    `${JSON.stringify({ seq, at: `2026-03-${at}:00.000Z`, subject: `stopgate.main.${tail}`, data })}\n`;
  const importing = async (...lines: string[]) => {
    await folder.write('log.jsonl', lines.join(''));
    return run('import', 'log.jsonl');
  };
  const policy = { policies: { default: { checks: [{ remote: 'scan' }] } } };
  const timedOut = await importing(
    line(1, '02T12:00', 'own.fleet.main.policy.set', policy),
    line(2, '02T12:00', 'worker.w1.task.claimed', { task: 'T-1' }),
    line(3, '02T12:01', 'worker.w1.stop.attempted', { attempt: 'a1' }),
    line(4, '02T12:30', 'worker.w1.task.completed', { task: 'T-1' }),
    line(5, '02T12:31', 'worker.w1.heartbeat.sent', {}),
  );
  expect(timedOut).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('worker w1 would be validating (attempt a1, scan), but is idle'),
  });
  const used = await importing(
    line(1, '02T12:00', 'worker.w1.usage.reported', { usd: 1 }),
    line(2, '22T12:00', 'worker.w1.usage.reported', { usd: 1 }),
  );
  expect(used).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('what agents used since 2026-03-02 would count as used on'),
  });
  expect((await client.manager.streams.list().next()).length).toBe(0);
});

test('a file with requests, or with entries that no log can hold, is refused before anything is sent', async () => {
  const asked: string[] = [];
  client.nc.subscribe('stopgate.main.run.>', {
    callback: (_error, message) => {
      asked.push(message.subject);
      message.respond('{"stream":"STOPGATE_main","seq":1}');
    },
  });
  await client.nc.flush();
  const line = (subject: string, data = '{}') => `{"seq":1,"subject":"${subject}","data":${data}}\n`;
  for (const subject of [
    'stopgate.main.run.box',
    'stopgate.main.decide.w1',
    'stopgate.main.worker',
    'stopgate.main.own.a b',
  ]) {
    await folder.write('evil.jsonl', line(subject));
    const stderr = expect.stringContaining(`evil.jsonl, line 1: '${subject}' is not a subject of a log`);
    expect(await run('import', 'evil.jsonl')).toMatchObject({ code: 2, stdout: '', stderr });
  }
  const large = '['.repeat(100_000) + ']'.repeat(100_000);
  await folder.write('large.jsonl', line('stopgate.main.worker.w1.heartbeat.sent', large));
  const stderr = expect.stringContaining('large.jsonl, line 1: the payload has 200000 bytes; the maximum is 71680');
  expect(await run('import', 'large.jsonl')).toMatchObject({ code: 2, stdout: '', stderr });
  expect(asked).toEqual([]);
  expect((await client.manager.streams.list().next()).length).toBe(0);
});

test('an acknowledgement from a stranger does not count', async () => {
  const log = await openLogImport(client.nc, 'main', createLogger('silent'));
  // The log itself does not acknowledge, so only the stranger answers.
  const { config } = await client.manager.streams.info('STOPGATE_main');
  await client.manager.streams.update('STOPGATE_main', { ...config, no_ack: true });
  client.nc.subscribe('stopgate.main.worker.>', {
    callback: (_error, message) => void message.respond('{"stream":"OTHER","seq":1}'),
  });
  await client.nc.flush();
  const entry = { seq: 1, subject: 'stopgate.main.worker.w1.heartbeat.sent', payload: '{}' };
  await expect(log.append([entry])).rejects.toMatchObject({
    code: 'log.unavailable',
    message: expect.stringMatching(/^entry 1 was not stored: entry 1 of the stream OTHER was acknowledged/),
  });
});
