/**
 * Seed 002, task completion checking: is everything done that was asked for? Built-in checks are shown in
 * `test/conformance/plan-check.json`, `files-check.json` and `composite.json` and with real files in `test/system`;
 * here stand a checker of the user's own, the final verification and when nothing is checked.
 */
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Live, type Question, startLive } from './live.ts';
import { play } from './play.ts';

let live: Live;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stopgate-seeds-'));
  live = await startLive({
    default: {},
    planned: { checks: [{ plan: {} }] },
    custom: { checks: [{ remote: 'required-files' }] },
    both: { checks: [{ all: [{ plan: {} }, { remote: 'output' }] }] },
    either: { checks: [{ any: [{ plan: {} }, { remote: 'output' }] }] },
    context: { checks: [{ remote: 'context' }] },
  });
});
afterAll(async () => {
  await live.close();
  await rm(folder, { recursive: true, force: true });
});

const begin = (worker: string, policy: string, more: object = {}) =>
  live.client.publish(`worker.${worker}.worker.registered`, { policy, ...more });
const plan = (worker: string, ...statuses: string[]) =>
  live.client.publish(`worker.${worker}.plan.updated`, {
    steps: statuses.map((status, index) => ({ title: `Step ${index + 1}`, status })),
  });

describe('a checker', () => {
  test('is given the plan, the output, the folder and the stop reason', async () => {
    const asked = await live.serve('context', () => ({ complete: true }));
    await begin('w1', 'context', { cwd: folder, agent: 'claude' });
    await plan('w1', 'done', 'pending');
    await live.stop('w1', { output: '{"answer": 42}', stopReason: 'end_turn' });
    expect(asked).toMatchObject([
      {
        worker: 'w1',
        plan: [
          { title: 'Step 1', status: 'done' },
          { title: 'Step 2', status: 'pending' },
        ],
        agentOutput: '{"answer": 42}',
        cwd: folder,
        stopReason: 'end_turn',
      },
    ]);
    // Which agent it is, it may ask.
    expect(await live.worker('w1')).toMatchObject({ agent: 'claude' });
  });

  test('of one’s own, which looks for files in the worker’s folder; without a folder it has nothing to say', async () => {
    const required = ['output.txt', 'report.md'];
    const check = async ({ cwd }: Question) => {
      if (typeof cwd !== 'string') return { complete: true };
      const found = await Promise.all(
        required.map((name) =>
          access(join(cwd, name))
            .then(() => true)
            .catch(() => false),
        ),
      );
      const missing = required.filter((_name, index) => !found[index]);
      return missing.length === 0
        ? { complete: true }
        : { complete: false, reason: `Missing required files: ${missing.join(', ')}` };
    };
    live.client.nc.subscribe('stopgate.main.check.required-files', {
      callback: (_error, message) =>
        void check(message.json()).then((result) => message.respond(JSON.stringify(result))),
    });
    await begin('w2', 'custom', { cwd: folder });
    await writeFile(join(folder, 'output.txt'), '');
    expect(await live.stop('w2')).toMatchObject({ decision: 'block', reason: 'Missing required files: report.md' });
    await writeFile(join(folder, 'report.md'), '');
    expect(await live.stop('w2')).toMatchObject({ decision: 'allow', cause: 'complete' });
    await begin('w3', 'custom');
    expect(await live.stop('w3')).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('may be combined with others: all must pass, or any', async () => {
    await live.serve('output', () => ({ complete: false, reason: 'no output yet' }));
    for (const [worker, policy] of [
      ['w4', 'both'],
      ['w5', 'either'],
    ] as const) {
      await begin(worker, policy);
      await plan(worker, 'done');
    }
    expect(await live.stop('w4')).toMatchObject({ decision: 'block', reason: 'no output yet' });
    expect(await live.stop('w5')).toMatchObject({ decision: 'allow', cause: 'complete' });
    await plan('w5', 'pending');
    expect(await live.stop('w5')).toMatchObject({
      decision: 'block',
      reason: '1 of 1 plan steps remain: Step 1; or no output yet',
    });
  });
});

describe('the final verification', () => {
  test('fails with what is missing, as an error with the whole decision, until it is complete', async () => {
    await begin('w6', 'planned');
    await plan('w6', 'done', 'pending');
    const failed = await live.client.ask('verify.w6');
    expect(failed).toMatchObject({
      code: '409',
      body: {
        error: { code: 'INCOMPLETE' },
        decision: { decision: 'block', reason: '1 of 2 plan steps remain: Step 2', dryRun: true },
      },
    });
    await plan('w6', 'done', 'done');
    expect(await live.client.ask('verify.w6')).toMatchObject({
      code: '',
      body: { decision: 'allow', cause: 'complete' },
    });
  });

  test('is not satisfied by a stop that was only let go: capped or not judged is not complete', async () => {
    await begin('w7', 'planned');
    await plan('w7', 'pending');
    await live.client.publish('worker.w7.budget.exhausted', { kind: 'tokens' });
    expect(await live.stop('w7')).toMatchObject({ decision: 'allow', cause: 'bypassed' });
    expect((await live.client.ask('verify.w7')).code).toBe('409');
  });
});

test('no checker, no check: nothing is asked of a worker whose policy has none', () => {
  const day = play();
  day.say('12:00', 'worker.w.plan.updated', { steps: [{ title: 'a', status: 'pending' }] });
  expect(day.stop('12:01', 'w')).toMatchObject({ decision: 'allow', cause: 'no-policy' });
});

test.each([
  ['the budget is used up', 'worker.w.budget.exhausted', {}],
  ['the deadline is over', null, { stopReason: 'deadline_exceeded' }],
  ['the budget is named as the reason', null, { stopReason: 'budget_exhausted' }],
])('%s: the checks are not run', (_when, tail, fields) => {
  const day = play({ default: { checks: [{ remote: 'never-asked' }] } });
  if (tail !== null) day.say('12:00', tail);
  const decision = day.stop('12:01', 'w', fields);
  expect(decision).toMatchObject({ decision: 'allow', cause: 'bypassed' });
  expect(decision?.verdicts.map(({ guard }) => guard)).not.toContain('checks');
});
