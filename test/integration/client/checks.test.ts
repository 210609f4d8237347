/** Checks in code: what the function returns becomes the decision, and several servers share the requests. */
import { describe, expect, test } from 'vitest';
import {
  type AgentContext,
  type CheckReply,
  compositeValidator,
  TaskCompletionResult,
  todoValidator,
  ValidationResult,
} from '../../../src/client/index.ts';
import { useCheckScene } from './check-scene.ts';

const checks = useCheckScene(['forms', 'context', 'shared', 'todos', 'limit', 'drain']);

describe('what a check returns', () => {
  const cases: { what: string; reply: CheckReply; decision: object }[] = [
    {
      what: 'a complete ValidationResult of seed 000',
      reply: new ValidationResult({ complete: true, reason: 'All todos done' }),
      decision: { decision: 'allow', cause: 'complete' },
    },
    {
      what: 'an incomplete ValidationResult',
      reply: new ValidationResult({ complete: false, reason: '2 todos remaining' }),
      decision: { decision: 'block', cause: 'incomplete', reason: '2 todos remaining' },
    },
    {
      what: 'a StopHookResult of seed 001',
      reply: { action: 'continue', reason: 'Tests still failing', nextPrompt: null },
      decision: { decision: 'block', reason: 'Tests still failing' },
    },
    {
      what: 'a complete TaskCompletionResult of seed 002',
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
      const served = await checks.client.serveCheck('forms', check);
      expect(await checks.decideUnder('forms')).toMatchObject(decision);
      await served.close();
    }
  });
});

test('a check learns about the agent under the names of the seeds', async () => {
  const seen: AgentContext[] = [];
  const served = await checks.client.serveCheck('context', (context) => {
    seen.push(context);
    return TaskCompletionResult.ok();
  });
  await checks.client.publish('worker', 'c1', 'worker.registered', { policy: 'context', cwd: '/somewhere' });
  await checks.client.publish('worker', 'c1', 'plan.updated', { steps: [{ title: 'One', status: 'done' }] });
  await checks.client.publish('worker', 'c1', 'tool.used', { tool: 'Edit', files: ['src/a.ts'] });
  await checks.client.decide('c1', {
    attempt: 'a1',
    stopReason: 'max_turns',
    output: 'Ready. <promise>COMPLETE</promise>',
    files: ['src/b.ts'],
    validation: [{ rule: 'tests_pass', passed: false, message: '2 failed' }],
    draft: { content: '// code', type: 'implementation' },
  });
  await checks.decideUnder('context');
  await served.close();
  expect(seen).toEqual([
    {
      taskId: null,
      iteration: 0,
      executionPhase: null,
      worker: 'c1',
      attempt: 'a1',
      stopReason: 'max_turns',
      toolCount: 1,
      retryCount: 0,
      cwd: '/somewhere',
      filesModified: ['src/a.ts', 'src/b.ts'],
      validationResults: [{ ruleName: 'tests_pass', passed: false, message: '2 failed' }],
      completionPromises: [{ type: 'COMPLETE', detected: true, content: '<promise>COMPLETE</promise>' }],
      agentOutput: 'Ready. <promise>COMPLETE</promise>',
      draftContent: '// code',
      draftType: 'implementation',
      plan: [{ title: 'One', status: 'done' }],
    },
    expect.objectContaining({ stopReason: 'end_turn', toolCount: 0, plan: [], filesModified: [], cwd: null }),
  ]);
  expect(seen[1]).not.toHaveProperty('agentOutput');
});

test('validators of seed 000 can be served as they are', async () => {
  const validator = compositeValidator(todoValidator(), ({ toolCount }) => {
    const complete = toolCount > 1;
    return new ValidationResult({ complete, reason: complete ? 'Worked' : 'Nothing done' });
  });
  const served = await checks.client.serveCheck('todos', validator);
  const worker = checks.client.worker('todo');
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
    const requests = [0, 0];
    const clients = [checks.client, await checks.scene.connect()];
    // Each holds its request until both have one, so that one server alone could never finish.
    let release = () => {};
    const bothBusy = new Promise<void>((resolve) => {
      release = resolve;
    });
    const served = await Promise.all(
      clients.map((it, index) =>
        it.serveCheck('shared', async () => {
          requests[index] = (requests[index] ?? 0) + 1;
          if (requests.every((count) => count > 0)) release();
          await bothBusy;
          return { complete: false, reason: `server ${index}` };
        }),
      ),
    );
    const decisions = await Promise.all(Array.from({ length: 40 }, () => checks.decideUnder('shared')));
    expect(requests[0]).toBeGreaterThan(0);
    expect(requests[1]).toBeGreaterThan(0);
    expect((requests[0] ?? 0) + (requests[1] ?? 0)).toBe(40); // each request went to one of them
    expect(new Set(decisions.map((it) => it.reason))).toEqual(new Set(['server 0', 'server 1']));
    for (const each of served) await each.close();
  });

  test('a server that closes answers its running requests', async () => {
    let [started, finish] = [() => {}, () => {}];
    const hasStarted = new Promise<void>((resolve) => {
      started = resolve;
    });
    const mayFinish = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const leaving = await checks.scene.connect();
    await leaving.serveCheck('drain', async () => {
      started();
      await mayFinish;
      return { complete: false, reason: 'answered while it closed' };
    });
    const decision = checks.decideUnder('drain');
    await hasStarted;
    const closed = leaving.close();
    finish();
    await closed;
    expect((await decision).reason).toBe('answered while it closed');
    expect((await checks.decideUnder('drain-strict')).reason).toBe('nobody serves stopgate.main.check.drain');
  });

  test('run at most as many requests at once as configured', async () => {
    let [running, most] = [0, 0];
    let overlapped = () => {};
    const overlap = new Promise<void>((resolve) => {
      overlapped = resolve;
    });
    const served = await checks.client.serveCheck(
      'limit',
      async () => {
        running += 1;
        most = Math.max(most, running);
        if (running === 2) overlapped();
        await overlap;
        running -= 1;
        return { complete: true, reason: '' };
      },
      { concurrency: 2 },
    );
    await Promise.all(Array.from({ length: 12 }, () => checks.decideUnder('limit')));
    expect(most).toBe(2);
    await served.close();
    await expect(
      checks.client.serveCheck('limit', () => TaskCompletionResult.ok(), { concurrency: 0 }),
    ).rejects.toThrow("not '0'");
    await expect(checks.client.serveCheck('no name', () => TaskCompletionResult.ok())).rejects.toThrow(
      'is not the id of a check',
    );
  });
});
