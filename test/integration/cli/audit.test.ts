/** `stopgate audit` lists the actions of operators in the log. */
import { expect, test } from 'vitest';
import { useStandIn } from '../../support/stand-in.ts';
import { jsonLines, runOnce } from '../../support/terminal.ts';

const standIn = useStandIn();

async function openLog() {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  const put = (tail: string, data: object) =>
    standIn.connection().request(`stopgate.${fleet}.${tail}`, JSON.stringify(data));
  const audit = (...argv: string[]) =>
    runOnce(['audit', ...argv, '--nats', standIn.url(), '--fleet', fleet], { columns: 120 });
  return { fleet, put, audit };
}

test('lists only the actions of operators, in log order', async () => {
  const { put, audit } = await openLog();
  await put('own.worker.w2.input.answered', {
    by: 'bob',
    request: 'r1',
    verdict: 'deny',
    message: 'Not\u001b[2J on main',
  });
  await put('own.worker.w1.escalation.raised', { reason: 'stuck' });
  await put('own.worker.w1.escalation.acknowledged', { by: 'alice' });
  await put('worker.w1.tool.used', { tool: 'Bash', ok: true });
  await put('own.task.T-1.escalation.resolved', { by: 'alice (ann)', verdict: 'resume', prompt: 'Try again' });
  await put('own.worker.w3.escalation.resolved', { by: 'dora', verdict: 'resume', grant: { usd: 5 } });
  await put('own.worker.w1.worker.retired', { by: 'alice' });
  await put('own.worker.w3.worker.paused', { by: 'cem', forMs: 1_800_000 });
  await put('own.worker.w3.worker.unpaused', { by: 'cem' });
  const { code, stdout } = await audit();
  expect({
    code,
    lines: stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/).slice(1)),
  }).toEqual({
    code: 0,
    lines: [
      ['BY', 'WHAT', 'ABOUT', 'TEXT'],
      ['bob', 'answered: deny', 'worker w2', 'Not on main'],
      ['alice', 'acknowledged', 'worker w1'],
      ['alice (ann)', 'resolved: resume', 'task T-1', 'Try again'],
      ['dora', 'resolved: resume', 'worker w3', 'granted usd 5'],
      ['alice', 'retired', 'worker w1'],
      ['cem', 'paused', 'worker w3', 'for 30m'],
      ['cem', 'unpaused', 'worker w3'],
    ],
  });
  const named = async (...argv: string[]) =>
    (jsonLines((await audit('--json', ...argv)).stdout) as { action: string }[]).map(({ action }) => action);
  expect(await named('--by', 'alice')).toEqual(['escalation.acknowledged', 'escalation.resolved', 'worker.retired']);
  expect(await named('--worker', 'w1')).toEqual(['escalation.acknowledged', 'worker.retired']);
  expect(await named('--last', '1')).toEqual(['worker.unpaused']);
  expect(await named('--since', '2999-01-01T00:00:00.000Z')).toEqual([]);
  expect(await named('--since', '2999-01-01')).toEqual([]);
  expect(await named('--since', '1h', '--by', 'bob')).toEqual(['input.answered']);
  expect(await named('--since', '0s')).toEqual([]);
});

test('says so if there are none', async () => {
  const { fleet, audit } = await openLog();
  expect(await audit()).toMatchObject({ code: 0, stdout: `No operator actions in fleet '${fleet}'\n` });
  const filtered = await audit('--by', 'nobody', '--worker', 'w9');
  expect(filtered.stdout).toBe(`No operator actions in fleet '${fleet}' on w9 by 'nobody'\n`);
  expect(await audit('--since', 'yesterday')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--since 'yesterday' is not a time"),
  });
});
