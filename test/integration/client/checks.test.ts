/** Checks in code: what a function says becomes the decision, and what goes wrong has words of its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentContext,
  type CheckReply,
  type Client,
  compositeValidator,
  type Decision,
  TaskCompletionResult,
  todoValidator,
  ValidationResult,
} from '../../../src/client/index.ts';
import { openClient, type Client as PlainClient } from '../../support/client.ts';
import { openScene, type Scene } from './scene.ts';

const names = ['forms', 'context', 'shared', 'todos', 'gone', 'slow', 'nonsense', 'twice', 'throws', 'limit', 'drain'];
let scene: Scene;
let client: Client;
let plain: PlainClient;

beforeAll(async () => {
  const policies = names.map((name) => {
    const check = { remote: name, ...(name === 'slow' ? { timeout: '400ms' } : {}) };
    return [
      [name, { checks: [check] }],
      [`${name}-strict`, { retries: null, checks: [{ ...check, onError: 'block' }] }],
    ];
  });
  scene = await openScene(Object.fromEntries(policies.flat()));
  ({ client } = scene);
  plain = await openClient(scene.server.url);
});
afterAll(async () => {
  await plain.close();
  await scene.close();
});

let count = 0;
/** A worker of its own under this policy. */
async function decideUnder(policy: string): Promise<Decision> {
  count += 1;
  const worker = client.worker(`w${count}`);
  await worker.publish('worker.registered', { policy });
  return worker.decide({ attempt: 'a1' });
}

describe('what a check returns', () => {
  const cases: { what: string; reply: CheckReply; decision: object }[] = [
    {
      what: 'a ValidationResult of seed 000 that is complete',
      reply: new ValidationResult({ complete: true, reason: 'All todos done' }),
      decision: { decision: 'allow', cause: 'complete' },
    },
    {
      what: 'a ValidationResult that is not',
      reply: new ValidationResult({ complete: false, reason: '2 todos remaining' }),
      decision: { decision: 'block', cause: 'incomplete', reason: '2 todos remaining' },
    },
    {
      what: 'a StopHookResult of seed 001',
      reply: { action: 'continue', reason: 'Tests still failing', nextPrompt: null },
      decision: { decision: 'block', reason: 'Tests still failing' },
    },
    {
      what: 'a TaskCompletionResult of seed 002 that is ok',
      reply: TaskCompletionResult.ok(),
      decision: { decision: 'allow', cause: 'complete' },
    },
    {
      what: 'a TaskCompletionResult with feedback',
      reply: TaskCompletionResult.incomplete('Write the report'),
      decision: { decision: 'block', reason: 'Write the report' },
    },
    {
      what: 'a plain object with data for the agent',
      reply: { complete: false, reason: 'schema', feedback: { missing: ['title'] } },
      decision: {
        feedback: [{ check: 'forms', outcome: 'fail', message: 'schema', details: { missing: ['title'] } }],
        nextPrompt: expect.stringContaining('"missing"'),
      },
    },
  ];
  test.each(cases)('$what', async ({ reply, decision }) => {
    for (const check of [() => reply, async () => reply]) {
      const served = await client.serveCheck('forms', check);
      expect(await decideUnder('forms')).toMatchObject(decision);
      await served.close();
    }
  });
});

test('a check is told of the agent in the names of the seeds', async () => {
  const seen: AgentContext[] = [];
  const served = await client.serveCheck('context', (context) => {
    seen.push(context);
    return TaskCompletionResult.ok();
  });
  await client.publish('worker', 'c1', 'worker.registered', { policy: 'context', cwd: '/somewhere' });
  await client.publish('worker', 'c1', 'plan.updated', { steps: [{ title: 'One', status: 'done' }] });
  await client.publish('worker', 'c1', 'tool.used', { tool: 'Edit', files: ['src/a.ts'] });
  await client.decide('c1', {
    attempt: 'a1',
    stopReason: 'max_turns',
    output: 'Ready. <promise>COMPLETE</promise>',
    files: ['src/b.ts'],
    validation: [{ rule: 'tests_pass', passed: false, message: '2 failed' }],
    draft: { content: '// code', type: 'implementation' },
  });
  await decideUnder('context');
  await served.close();
  expect(seen).toEqual([
    {
      ...{ taskId: null, iteration: 0, executionPhase: null, worker: 'c1', attempt: 'a1' },
      ...{ stopReason: 'max_turns', toolCount: 1, retryCount: 0, cwd: '/somewhere' },
      filesModified: ['src/a.ts', 'src/b.ts'],
      validationResults: [{ ruleName: 'tests_pass', passed: false, message: '2 failed' }],
      completionPromises: [{ type: 'COMPLETE', detected: true, content: '<promise>COMPLETE</promise>' }],
      agentOutput: 'Ready. <promise>COMPLETE</promise>',
      ...{ draftContent: '// code', draftType: 'implementation' },
      plan: [{ title: 'One', status: 'done' }],
    },
    expect.objectContaining({ stopReason: 'end_turn', toolCount: 0, plan: [], filesModified: [], cwd: null }),
  ]);
  expect(seen[1]).not.toHaveProperty('agentOutput');
});

test('validators of seed 000 serve as they are', async () => {
  const validator = compositeValidator(todoValidator(), ({ toolCount }) => {
    const complete = toolCount > 1;
    return new ValidationResult({ complete, reason: complete ? 'Worked' : 'Nothing done' });
  });
  const served = await client.serveCheck('todos', validator);
  const worker = client.worker('todo');
  await worker.publish('worker.registered', { policy: 'todos' });
  await worker.publish('plan.updated', { steps: [{ title: 'A', status: 'pending' }] });
  expect(await worker.decide()).toMatchObject({ decision: 'block', reason: '1 todos remaining' });
  await worker.publish('plan.updated', { steps: [{ title: 'A', status: 'completed' }] });
  expect(await worker.decide()).toMatchObject({ decision: 'block', reason: 'Nothing done' });
  await worker.publish('tool.used', { tool: 'Bash' });
  await worker.publish('tool.used', { tool: 'Bash' });
  expect(await worker.decide()).toMatchObject({ decision: 'allow', cause: 'complete' });
  await served.close();
});

describe('several servers of one check', () => {
  test('share the load', async () => {
    const answered = [0, 0];
    const clients = [client, await scene.connect()];
    // Each holds what it has until both have a question: one server alone would never let go.
    let release = () => {};
    const bothAsked = new Promise<void>((resolve) => {
      release = resolve;
    });
    const served = await Promise.all(
      clients.map((it, index) =>
        it.serveCheck('shared', async () => {
          answered[index] = (answered[index] ?? 0) + 1;
          if (answered.every((asked) => asked > 0)) release();
          await bothAsked;
          return { complete: false, reason: `server ${index}` };
        }),
      ),
    );
    const decisions = await Promise.all(Array.from({ length: 40 }, () => decideUnder('shared')));
    expect(answered[0]).toBeGreaterThan(0);
    expect(answered[1]).toBeGreaterThan(0);
    expect((answered[0] ?? 0) + (answered[1] ?? 0)).toBe(40); // each question went to one of them
    expect(new Set(decisions.map((it) => it.reason))).toEqual(new Set(['server 0', 'server 1']));
    for (const each of served) await each.close();
  });

  test('a server that closes answers what it was asked', async () => {
    let [asked, finish] = [() => {}, () => {}];
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const mayFinish = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const leaving = await scene.connect();
    await leaving.serveCheck('drain', async () => {
      asked();
      await mayFinish;
      return { complete: false, reason: 'answered while it closed' };
    });
    const decision = decideUnder('drain');
    await wasAsked;
    const closed = leaving.close();
    finish();
    await closed;
    expect((await decision).reason).toBe('answered while it closed');
    expect((await decideUnder('drain-strict')).reason).toBe('nobody serves stopgate.main.check.drain');
  });

  test('no more questions at once than asked for', async () => {
    let [now, most] = [0, 0];
    let overlapped = () => {};
    const overlap = new Promise<void>((resolve) => {
      overlapped = resolve;
    });
    const served = await client.serveCheck(
      'limit',
      async () => {
        now += 1;
        most = Math.max(most, now);
        if (now === 2) overlapped();
        await overlap;
        now -= 1;
        return { complete: true, reason: '' };
      },
      { concurrency: 2 },
    );
    await Promise.all(Array.from({ length: 12 }, () => decideUnder('limit')));
    expect(most).toBe(2);
    await served.close();
    await expect(client.serveCheck('limit', () => TaskCompletionResult.ok(), { concurrency: 0 })).rejects.toThrow(
      "concurrency '0'",
    );
    await expect(client.serveCheck('no name', () => TaskCompletionResult.ok())).rejects.toThrow('no id of a check');
  });
});

describe('what goes wrong has its own words, never passes, and changes nothing but that', () => {
  /** With `onError: block` it blocks in its words; with the default it is allowed, and said not to be judged. */
  async function expectError(name: string, words: string): Promise<void> {
    expect(await decideUnder(`${name}-strict`)).toMatchObject({
      decision: 'block',
      cause: 'incomplete',
      reason: words,
    });
    const allowed = await decideUnder(name);
    expect(allowed).toMatchObject({
      ...{ decision: 'allow', cause: 'complete' },
      reason: `Allowed, though a check could not be judged: ${words}`,
    });
    expect(allowed.verdicts.find((it) => it.guard === 'checks')).toMatchObject({ verdict: 'error' });
  }

  test('nobody serves it', () => expectError('gone', 'nobody serves stopgate.main.check.gone'));

  test('a throw, a rejection, and what is no error at all', async () => {
    for (const [fault, words] of [
      [() => Promise.reject(new Error('scanner crashed\n at line 3')), 'scanner crashed at line 3'],
      [
        () => {
          throw new Error('boom – ünïcode');
        },
        'boom – ünïcode',
      ],
      [() => Promise.reject('a string'), 'a string'],
      [() => Promise.reject(new TypeError()), 'TypeError'],
    ] as const) {
      const served = await client.serveCheck('throws', fault);
      await expectError('throws', words);
      await served.close();
    }
  });

  test.each([
    ['nothing', undefined],
    ['a text', 'done'],
    ['an unknown action', { action: 'explode', reason: '' }],
    ['an action without a reason', { action: 'continue' }],
    ['a complete that is no boolean', { complete: 'yes', reason: '' }],
  ])('it returns %s', async (_what, result) => {
    const served = await client.serveCheck('nonsense', () => result as never);
    const decision = await decideUnder('nonsense-strict');
    expect(decision).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining('returned what is no result'),
    });
    await served.close();
  });

  test('a result that cannot be written as JSON', async () => {
    const served = await client.serveCheck('nonsense', () => ({ complete: false, reason: '', feedback: 1n }));
    expect((await decideUnder('nonsense-strict')).reason).toContain('BigInt');
    await served.close();
  });

  test.each([
    ['no JSON', 'ok', 'check nonsense replied what is no JSON'],
    ['another form', '{"ok":true}', 'check nonsense replied in a form that is not known'],
  ])('another server replies %s', async (_what, reply, words) => {
    const subscription = plain.nc.subscribe('stopgate.main.check.nonsense', {
      callback: (_error, message) => void message.respond(reply),
    });
    await plain.nc.flush();
    await expectError('nonsense', words);
    subscription.unsubscribe();
    await plain.nc.flush();
  });

  test('no reply in time; the late one is for nobody', async () => {
    const lateAnswers: (() => void)[] = [];
    const signals: AbortSignal[] = [];
    const served = await client.serveCheck('slow', async (_context, signal) => {
      signals.push(signal);
      await new Promise<void>((resolve) => lateAnswers.push(resolve));
      return { complete: false, reason: 'too late' };
    });
    const decision = await decideUnder('slow-strict');
    expect(decision).toMatchObject({ decision: 'block', reason: expect.stringMatching(/slow.* within 400 ?ms/) });
    const before = await client.getWorker(decision.worker);
    for (const answer of lateAnswers) answer();
    await served.close();
    const after = await client.getWorker(decision.worker);
    expect({ ...after, idle: before.idle }).toEqual(before);
    expect(await client.decide(decision.worker, { attempt: 'a1' })).toEqual(decision);
    expect(signals[0]?.aborted).toBe(false); // it was given no time of its own
  });

  test('its own time is over first', async () => {
    let aborted = false;
    const served = await client.serveCheck(
      'slow',
      (_context, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('aborted'));
          });
        }),
      { timeoutMs: 50 },
    );
    await expectError('slow', 'no result within 50 ms');
    expect(aborted).toBe(true);
    await served.close();
  });

  test('a second reply is not heard', async () => {
    const subscription = plain.nc.subscribe('stopgate.main.check.twice', {
      callback: (_error, message) => {
        message.respond('{"complete":false,"reason":"first"}');
        message.respond('{"complete":true,"reason":"second"}');
      },
    });
    await plain.nc.flush();
    const decision = await decideUnder('twice-strict');
    expect(decision).toMatchObject({ decision: 'block', reason: 'first' });
    expect(await client.getWorker(decision.worker)).toMatchObject({ state: 'blocked', retry: { count: 1 } });
    expect(
      await plain.stored('STOPGATE_main', `stopgate.main.own.worker.${decision.worker}.check.finished`),
    ).toHaveLength(1);
    subscription.unsubscribe();
  });

  test('what is no question of the service is answered as an error', async () => {
    const served = await client.serveCheck('nonsense', () => TaskCompletionResult.ok());
    for (const question of ['{', '[]', '{"plan":"none"}']) {
      const reply = await plain.nc.request('stopgate.main.check.nonsense', question, { timeout: 5_000 });
      expect(reply.headers?.get('Nats-Service-Error')).toMatch(/^not a question to a check: /);
      expect(reply.json()).toMatchObject({ error: { code: 'CHECK_FAILED' } });
    }
    await served.close();
  });
});
