/**
 * Seed 000, stop hooks: a validator of the user's is asked when the agent would stop, and says complete or not, with a
 * reason. Here it is a check that any process may serve (`remote`), or one of the built-in checks.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Live, startLive } from './live.ts';
import { play } from './play.ts';

let live: Live;
beforeAll(async () => {
  live = await startLive({
    default: {},
    asked: { checks: [{ remote: 'asked' }] },
    says: { checks: [{ remote: 'says' }] },
    never: { checks: [{ remote: 'never' }] },
    raises: { checks: [{ remote: 'raises' }] },
    composite: { checks: [{ remote: 'first' }, { remote: 'second' }, { remote: 'third' }] },
    wide: { retries: 1, checks: [{ plan: {} }] },
    planned: { checks: [{ plan: {} }] },
  });
});
afterAll(() => live.close());

const begin = (worker: string, policy: string) => live.client.publish(`worker.${worker}.worker.registered`, { policy });

describe('the validator', () => {
  test('is given the stop reason, the number of tools used and how often the stop was blocked', async () => {
    const asked = await live.serve('asked', () => ({ complete: false, reason: 'tests are red' }));
    await begin('w1', 'asked');
    for (const tool of ['Read', 'Edit', 'Bash']) await live.client.publish('worker.w1.tool.used', { tool });
    await live.stop('w1', { stopReason: 'end_turn', output: 'done' });
    await live.stop('w1', { stopReason: 'max_turns' });
    await live.stop('w1');
    expect(asked).toMatchObject([
      { stopReason: 'end_turn', toolCount: 3, retryCount: 0, agentOutput: 'done' },
      { stopReason: 'max_turns', toolCount: 3, retryCount: 1, agentOutput: null },
      { stopReason: null, toolCount: 3, retryCount: 2 },
    ]);
  });

  test('that says complete lets the agent stop', async () => {
    await live.serve('says', () => ({ complete: true, reason: 'All todos done' }));
    await begin('w8', 'says');
    expect(await live.stop('w8')).toMatchObject({ decision: 'allow', action: 'complete', cause: 'complete' });
  });

  test('that says incomplete blocks with its reason; after three blocks the stop is forced, with a warning', async () => {
    const asked = await live.serve('never', () => ({ complete: false, reason: '2 todos remaining' }));
    await begin('w2', 'never');
    const answers = [];
    for (let count = 0; count < 4; count += 1) answers.push(await live.stop('w2', { stopReason: 'end_turn' }));
    expect(answers).toMatchObject([
      { decision: 'block', reason: '2 todos remaining', retry: { count: 1, max: 3 } },
      { decision: 'block', retry: { count: 2, max: 3 } },
      { decision: 'block', retry: { count: 3, max: 3 } },
      { decision: 'allow', action: 'complete', cause: 'capped', retry: { count: 3, max: 3 } },
    ]);
    expect(asked).toHaveLength(3); // the cap is looked at first: the validator is not asked a fourth time
    expect(live.warnings).toContainEqual(
      expect.objectContaining({ message: 'stop allowed at the cap', workerId: 'w2', cause: 'capped' }),
    );
  });

  test('that fails lets the agent stop, with a warning, and never as a silent yes', async () => {
    await live.serve('raises', () => 'Traceback (most recent call last):');
    await begin('w3', 'raises');
    const decision = await live.stop('w3');
    expect(decision).toMatchObject({
      decision: 'allow',
      reason: 'Allowed, though a check could not be judged: check raises replied what is no JSON',
    });
    expect(decision.verdicts.find(({ guard }) => guard === 'checks')).toMatchObject({ verdict: 'error' });
    expect(live.warnings).toContainEqual(
      expect.objectContaining({ message: 'a check could not be judged', workerId: 'w3' }),
    );
  });

  test('where there is none the stop is allowed', async () => {
    expect(await live.stop('w4')).toMatchObject({ decision: 'allow', cause: 'no-policy' });
  });

  test('may be several: one after the other, the first that is not complete gives its reason, the rest are not asked', async () => {
    const first = await live.serve('first', () => ({ complete: true }));
    let done = false;
    const second = await live.serve('second', () => ({ complete: done, reason: 'lint fails' }));
    const third = await live.serve('third', () => ({ complete: true }));
    await begin('w5', 'composite');
    expect(await live.stop('w5')).toMatchObject({ decision: 'block', reason: 'lint fails' });
    expect([first.length, second.length, third.length]).toEqual([1, 1, 0]);
    done = true;
    expect(await live.stop('w5')).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(third).toHaveLength(1);
  });

  test('reads only: the answer is one entry, and the worker is what it was', async () => {
    await begin('w6', 'planned');
    await live.client.publish('worker.w6.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    const before = await live.worker('w6');
    const { code } = await live.client.ask('probe.w6');
    expect(code).toBe('');
    expect({ ...(await live.worker('w6')), idle: before.idle }).toEqual(before);
  });
});

describe('todos', () => {
  test.each([
    ['completed', 'allow'],
    ['done', 'allow'],
    ['cancelled', 'allow'],
    ['pending', 'block'],
    ['in_progress', 'block'],
    ['Completed', 'block'],
  ])('one that is %s: %s', (status, decision) => {
    const day = play({ default: { checks: [{ plan: {} }] } });
    day.say('12:00', 'worker.w.plan.updated', { steps: [{ title: 'a', status }] });
    expect(day.stop('12:01', 'w')).toMatchObject({ decision });
  });

  test('that remain are counted, and the first three named with 30 characters each', () => {
    const day = play({ default: { checks: [{ plan: {} }] } });
    const titles = ['Write the tests of the new parser and run them', 'Fix lint', 'Update docs', 'Release'];
    const steps = titles.map((title) => ({ title, status: 'pending' }));
    day.say('12:00', 'worker.w.plan.updated', { steps: [...steps, { title: 'Read', status: 'completed' }] });
    expect(day.stop('12:01', 'w')?.reason).toBe(
      '4 of 5 plan steps remain: Write the tests of the new par, Fix lint, Update docs, …',
    );
  });
});

test('the most blocks there may be is the policy’s own', async () => {
  await begin('w7', 'wide');
  await live.client.publish('worker.w7.plan.updated', { steps: [{ title: 'a', status: 'pending' }] });
  expect(await live.stop('w7')).toMatchObject({ decision: 'block', retry: { count: 1, max: 1 } });
  expect(await live.stop('w7')).toMatchObject({ decision: 'allow', cause: 'capped' });
});
