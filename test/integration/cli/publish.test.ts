/** `stopgate publish` checks entries before it sends them. It never sends one that the service would refuse. */

import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Refusal, useStandIn } from '../../support/stand-in.ts';
import { jsonLines, openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();

async function openLog() {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  const place = ['--nats', standIn.url(), '--fleet', fleet];
  return {
    fleet,
    place,
    publish: (argv: readonly string[], options: TerminalOptions = {}) =>
      runOnce(['publish', ...argv, ...place], options),
    stored: () => standIn.stored(fleet),
  };
}

describe('one entry', () => {
  test.each([
    { why: 'in words', argv: ['worker', 'w1', 'tool.used', '{"tool":"Bash"}'] },
    { why: 'as one word', argv: ['worker.w1.tool.used', '{"tool":"Bash"}'] },
    { why: 'in words of one token each', argv: ['worker', 'w1', 'tool', 'used', '{"tool":"Bash"}'] },
    { why: 'from stdin', argv: ['worker', 'w1', 'tool.used', '-'] },
  ])('$why', async ({ argv }) => {
    const log = await openLog();
    const { code, stdout, stderr } = await log.publish(argv, { stdin: '{"tool":"Bash"}\n' });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'stored as seq 1\n', stderr: '' });
    expect(await log.stored()).toEqual([['worker.w1.tool.used', { tool: 'Bash' }]]);
  });

  test('may have a full subject, no fields, or unknown fields', async () => {
    const log = await openLog();
    await log.publish([`stopgate.${log.fleet}.worker.w1.heartbeat.sent`]);
    await log.publish(['worker', 'w1', 'heartbeat.sent']);
    await log.publish(['worker', 'w1', 'heartbeat.sent', '{"mood":"good"}']);
    expect((await log.stored()).map(([, data]) => data)).toEqual([{}, {}, { mood: 'good' }]);
  });

  test.each([
    ['step.updated', { step: '1', status: 'finished' }, "not 'finished'"],
    ['step.updated', { step: '1', status: 'done' }, ''],
    [
      'step.updated',
      { step: '1', titel: 'x' },
      "step.updated has no field 'titel', which is stored and ignored; did you mean 'title'?",
    ],
    [
      'heartbeat.sent',
      { tokens: 5 },
      "heartbeat.sent has no field 'tokens', which is stored and ignored; the fields are mode",
    ],
    ['task.claimed', { task: 'T-9' }, 'task T-9 did not exist; the claim created it'],
  ])('%s %j: stderr says what its author may not expect', async (type, data, says) => {
    const log = await openLog();
    const unknown = () => {
      throw new Refusal(404, { error: { code: 'NOT_FOUND', message: 'no such task', issues: [] } });
    };
    await standIn.answer(log.fleet, 'get.task.*', unknown);
    const { code, stderr } = await log.publish(['worker', 'w1', type, JSON.stringify(data)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: says === '' ? '' : expect.stringContaining(says) });
  });

  test('may be an operator entry', async () => {
    const log = await openLog();
    const { code } = await log.publish(['own.worker.w1.worker.retired', '{"by":"me"}']);
    expect(code).toBe(0);
    expect(await log.stored()).toEqual([['own.worker.w1.worker.retired', { by: 'me' }]]);
  });

  test('is stored once with --id', async () => {
    const log = await openLog();
    const argv = ['worker.w1.heartbeat.sent', '--id', 'once'];
    expect((await log.publish(argv)).stdout).toBe('stored as seq 1\n');
    expect((await log.publish(argv)).stdout).toBe('already stored as seq 1 (same id)\n');
    expect(jsonLines((await log.publish([...argv, '--json'])).stdout)).toEqual([{ seq: 1, duplicate: true }]);
    expect(await log.stored()).toHaveLength(1);
  });

  test.each([
    {
      argv: ['worker', 'w1', 'tool.usd'],
      says: `'tool.usd' is not an entry about a worker; these are: worker.registered,`,
    },
    { argv: ['worker', 'w1', 'step.update'], says: `did you mean 'step.updated'?` },
    { argv: ['worker', 'w1', 'tool.used'], says: 'not a valid tool.used: tool: ' },
    { argv: ['worker', 'w1', 'tool.used', '{"tool":5}'], says: 'not a valid tool.used: tool: ' },
    { argv: ['worker', 'w1', 'tool.used', '{'], says: 'the payload is not JSON' },
    { argv: ['worker', 'w1', 'tool.used', '[]'], says: 'not an object' },
    { argv: ['worker', 'w 1', 'tool.used', '{"tool":"x"}'], says: `'w 1' is not the id of a worker` },
    { argv: ['worker', 'w1.>', 'tool.used', '{"tool":"x"}'], says: `'w1.>' is not the id of a worker` },
    { argv: ['worker', '../x', 'tool.used', '{"tool":"x"}'], says: `'../x' is not the id of a worker` },
    {
      argv: ['worker', 'w1', 'task.created', '{}'],
      says: `'task.created' is an entry about a task; use: npx stopgate publish task T-1 task.created`,
    },
    { argv: ['-'], says: 'stdin has no entries' },
    { argv: ['decision.w1', '{}'], says: 'only the service publishes' },
    { argv: ['stopgate.elsewhere.worker.w1.heartbeat.sent'], says: `belongs to fleet 'elsewhere'` },
    { argv: ['nonsense'], says: 'is not the subject of an entry' },
    { argv: ['worker.w1.heartbeat.sent', '--stream'], says: '--stream works only with "-"' },
    { argv: [], says: "missing required argument 'SUBJECT-TAIL'" },
  ])('$argv is refused and nothing is sent', async ({ argv, says }) => {
    const log = await openLog();
    const { code, stdout, stderr } = await log.publish(argv);
    expect(stderr).toContain(says);
    expect({ code, stdout, stored: await log.stored() }).toEqual({ code: 2, stdout: '', stored: [] });
  });

  test('is refused if it is larger than 64 KiB', async () => {
    const log = await openLog();
    const stdin = JSON.stringify({ text: 'x'.repeat(66_000) });
    const { code, stderr } = await log.publish(['worker', 'w1', 'prompt.submitted', '-'], { stdin });
    expect(stderr).toContain('the limit is 65536');
    expect(code).toBe(2);
  });

  test('exits with 3 if the fleet has no log', async () => {
    const { code, stderr } = await runOnce([
      'publish',
      'worker.w1.heartbeat.sent',
      '--nats',
      standIn.url(),
      '--fleet',
      'none',
    ]);
    expect(stderr).toContain('was not stored');
    expect(code).toBe(3);
  });
});

describe('JSON lines from stdin', () => {
  const good = (id: string) => JSON.stringify({ subject: `worker.${id}.tool.used`, data: { tool: 'Bash' } });

  test('are stored in order, each with one line of output; lines of tail --json work', async () => {
    const log = await openLog();
    const whole = { at: '2026-03-02T12:00:00.000Z', subject: `stopgate.${log.fleet}.worker.w2.heartbeat.sent`, seq: 7 };
    const { code, stdout } = await log.publish(['-'], { stdin: `${good('w1')}\n\n${JSON.stringify(whole)}` });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'stored as seq 1\nstored as seq 2\n' });
    expect(await log.stored()).toEqual([
      ['worker.w1.tool.used', { tool: 'Bash' }],
      ['worker.w2.heartbeat.sent', {}],
    ]);
  });

  test('with an id are stored once', async () => {
    const log = await openLog();
    const line = JSON.stringify({ subject: 'worker.w1.heartbeat.sent', id: 'one' });
    await log.publish(['-'], { stdin: `${line}\n${line}\n` });
    expect(await log.stored()).toHaveLength(1);
  });

  const mixed = [good('w1'), 'nope', '{"data":{}}', '{"subject":"worker.w1.tool.used"}', good('w2')].join('\n');

  test('are not sent if one is bad, and each bad one is named', async () => {
    const log = await openLog();
    const { code, stdout, stderr } = await log.publish(['-'], { stdin: mixed });
    expect(stderr).toMatch(
      /^line 2: .*JSON.*\nline 3: "subject" is missing\nline 4: not a valid tool.used.*\nstopgate: 3 bad lines; nothing was sent\n$/,
    );
    expect({ code, stdout, stored: await log.stored() }).toEqual({ code: 2, stdout: '', stored: [] });
  });

  test('that are good are sent despite bad ones with --stream', async () => {
    const log = await openLog();
    const { code, stdout, stderr } = await log.publish(['-', '--stream'], { stdin: mixed });
    expect(stderr).toMatch(/^line 2: .*\nline 3: .*\nline 4: .*\n$/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: 'stored as seq 1\nstored as seq 2\n' });
  });

  test('are sent at once with --stream', async () => {
    const log = await openLog();
    const stdin = new PassThrough();
    const terminal = await openTerminal({ stdin });
    const ended = terminal.run('publish', '-', '--stream', ...log.place);
    stdin.write(`${good('w1')}\n`);
    await terminal.printed('stored as seq 1');
    stdin.end();
    expect(await ended).toBe(0);
  });
});
