/**
 * `stopgate replay --fleet` reads a live log up to its head at the start of the command. It runs against a real server.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { useStandIn } from '../../support/stand-in.ts';
import { jsonLines, openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();

async function openLog() {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  const nc = standIn.connection();
  const info = async () => (await jetstreamManager(nc)).streams.info(`STOPGATE_${fleet}`);
  return {
    fleet,
    put: (tail: string, data: object | string) =>
      nc.request(`stopgate.${fleet}.${tail}`, typeof data === 'string' ? data : JSON.stringify(data)),
    /** Does not wait for each entry to be stored. */
    async putMany(tails: readonly string[]) {
      for (const tail of tails) nc.publish(`stopgate.${fleet}.${tail}`, '{}');
      await nc.flush();
    },
    info,
    replay: (argv: readonly string[], options: TerminalOptions = {}) =>
      runOnce(['replay', '--fleet', fleet, '--nats', standIn.url(), ...argv], options),
  };
}

test('prints the decisions of a log without its refused entries, and ends at its head', async () => {
  const log = await openLog();
  await log.put(`own.fleet.${log.fleet}.policy.set`, { policies: { default: { checks: [{ plan: {} }] } } });
  await log.put('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  await log.put('worker.w1.tool.used', '{');
  await log.put('worker.w1.stop.attempted', { attempt: 'a1' });
  await log.put('worker.w2.stop.attempted', {});
  const { code, stdout, stderr } = await log.replay([]);
  expect(jsonLines(stdout)).toMatchObject([
    { worker: 'w1', attempt: 'a1', seq: 4, decision: 'block', policy: { seq: 1 } },
    { worker: 'w2', attempt: 'seq-5', decision: 'allow' },
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'stopgate: skipped 1 bad entry, as the service did\n' });
  expect(jsonLines((await log.replay(['--worker', 'w2'])).stdout)).toMatchObject([{ worker: 'w2' }]);
  const { state } = await log.info();
  expect({ messages: state.messages, consumers: state.consumer_count }).toEqual({ messages: 5, consumers: 0 });
});

test('--at shows all actors as they were at that time', async () => {
  const log = await openLog();
  await log.put('worker.w1.worker.registered', { agent: 'claude' });
  const at = (await log.info()).state.last_ts.slice(0, 23);
  await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(`${at}Z`) + 5); // so that the next entry is later
  await log.put('worker.w1.prompt.submitted', {});
  const { stdout } = await log.replay(['--at', `${at}Z`]);
  expect(jsonLines(stdout)).toMatchObject([
    { at: `${at}Z`, fleets: { [log.fleet]: { workers: { w1: { state: 'idle', agent: 'claude' } } } } },
  ]);
});

test('--diff compares with other policies over more than one batch, and counts each attempt once', async () => {
  const log = await openLog();
  const workers = Array.from({ length: 1_300 }, (_, index) => `worker.w${index}`);
  await log.putMany(workers.flatMap((worker) => [`${worker}.heartbeat.sent`, `${worker}.stop.attempted`]));
  await expect.poll(async () => (await log.info()).state.messages).toBe(2_600);
  const terminal = await openTerminal();
  await writeFile(join(terminal.cwd, 'new.yaml'), 'policies: { default: { checks: [{ rules: [lint] }] } }');
  const { code, stdout, stderr } = await log.replay(['--policy', 'new.yaml', '--diff', '--json'], {
    cwd: terminal.cwd,
  });
  const differences = jsonLines(stdout);
  expect(new Set(differences.map(({ worker }) => worker)).size).toBe(1_300);
  expect(differences[0]).toMatchObject({ before: { cause: 'no-policy' }, after: { reason: 'Failed rules: lint' } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '1300 attempts compared: 1300 would differ\n' });
  const later = new Date(Date.now() + 60_000).toISOString();
  const none = await log.replay(['--policy', 'new.yaml', '--diff', '--since', later], { cwd: terminal.cwd });
  expect(none).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^0 attempts compared: 0 would differ\n/),
  });
});

test('an empty log has no decisions', async () => {
  expect(await (await openLog()).replay([])).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('if the reader closes the pipe (| head), it ends quietly', async () => {
  const log = await openLog();
  await log.putMany(Array.from({ length: 3_000 }, (_, index) => `worker.w${index}.stop.attempted`));
  await expect.poll(async () => (await log.info()).state.messages).toBe(3_000);
  const { code, stdout, stderr } = await log.replay([], { writesMax: 1 });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(jsonLines(stdout).length).toBeLessThan(3_000);
});

test('a fleet without a log is an error', async () => {
  const { code, stdout, stderr } = await runOnce(['replay', '--fleet', 'nobody', '--nats', standIn.url()]);
  expect(stderr).toBe(`stopgate: there is no stream 'STOPGATE_nobody' here: no service has ever served this fleet\n`);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

test('without a server, the exit code is 3', async () => {
  const { code, stderr } = await runOnce(['replay', '--fleet', 'main', '--nats', 'nats://127.0.0.1:9']);
  expect(stderr).toContain('no NATS server at nats://127.0.0.1:9');
  expect(code).toBe(3);
});
