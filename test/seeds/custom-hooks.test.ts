/**
 * Seed 001 on a NATS server: custom hooks are processes of the user's that answer a subject, and all hooks outlive the
 * replica, which is the first of the seed's own wishes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HookResult } from '../../machines/index.ts';
import { deploy } from '../support/deployment.ts';
import { endService, serveShipped, startService } from '../support/service.ts';
import { type Live, type Question, startLive } from './live.ts';

let live: Live;
beforeAll(async () => {
  live = await startLive({ default: {} });
});
afterAll(() => live.close());

/** A worker that has claimed a task with one hook. */
async function begin(id: string, hook: object, iteration: object = {}) {
  await live.client.publish(`task.T-${id}.task.created`);
  await live.client.publish(`task.T-${id}.hook.registered`, { hook: 'h1', ...hook });
  await live.client.publish(`task.T-${id}.iteration.started`, { iteration: 1, maxIterations: 20, ...iteration });
  await live.client.publish(`worker.w-${id}.task.claimed`, { task: `T-${id}` });
}

/** The seed's own: too many iterations escalate, nothing modified goes on, anything else is complete. */
const criteria = ({ iteration, filesModified }: Question) => {
  if (Number(iteration) > 10) {
    return { action: 'escalate', reason: 'Too many iterations - may need different approach' };
  }
  if ((filesModified as string[]).length === 0) return { action: 'continue', reason: 'No files modified yet' };
  return { action: 'complete', reason: 'Custom completion criteria met' };
};

describe('a custom hook', () => {
  test('is given the whole context of the agent', async () => {
    const asked = await live.serve('context', () => ({ action: 'continue', reason: 'go on' }));
    await begin('context', { type: 'remote', name: 'context' }, { iteration: 3 });
    await live.client.publish('task.T-context.checkpoint.saved', { checkpoint: 'c', phase: 'testing' });
    await live.stop('w-context', {
      output: 'Nearly. <promise>BLOCKED</promise>',
      files: ['src/auth.ts'],
      validation: [{ rule: 'tests_pass', passed: false, message: '1 fails' }],
      draft: { content: '// code', type: 'implementation' },
    });
    expect(asked).toMatchObject([
      {
        task: 'T-context',
        iteration: 3,
        phase: 'testing',
        filesModified: ['src/auth.ts'],
        validationResults: [{ rule: 'tests_pass', passed: false, message: '1 fails' }],
        completionPromises: [{ type: 'BLOCKED', detected: true }],
        agentOutput: 'Nearly. <promise>BLOCKED</promise>',
        draftContent: '// code',
        draftType: 'implementation',
      },
    ]);
  });

  test('decides by any logic: continue blocks, complete allows, escalate hands over', async () => {
    await live.serve('criteria', criteria);
    await begin('few', { type: 'remote', name: 'criteria' });
    expect(await live.stop('w-few')).toMatchObject({ decision: 'block', reason: 'No files modified yet' });
    expect(await live.stop('w-few', { files: ['a.ts'] })).toMatchObject({ decision: 'allow', cause: 'complete' });
    await begin('many', { type: 'remote', name: 'criteria' }, { iteration: 11 });
    expect(await live.stop('w-many')).toMatchObject({
      decision: 'allow',
      action: 'escalate',
      cause: 'escalated',
      reason: 'Too many iterations - may need different approach',
    });
  });

  test('may say what to do next, and that is the next prompt', async () => {
    await live.serve('prompts', () => ({ action: 'continue', reason: 'red', nextPrompt: 'Fix the tests in src/' }));
    await begin('prompts', { type: 'remote', name: 'prompts' });
    expect(await live.stop('w-prompts')).toMatchObject({ reason: 'red', nextPrompt: 'Fix the tests in src/' });
  });

  test('may take its time: it is waited for', async () => {
    const subject = 'stopgate.main.check.slow';
    live.client.nc.subscribe(subject, {
      callback: (_error, message) =>
        void setTimeout(() => message.respond('{"action":"continue","reason":"thought about it"}'), 150),
    });
    await begin('slow', { type: 'remote', name: 'slow' });
    expect(await live.stop('w-slow')).toMatchObject({ decision: 'block', reason: 'thought about it' });
  });

  test('that fails escalates with its error, unless it is set to be skipped', async () => {
    await live.serve('throws', () => 'Error: undefined is not a function');
    await begin('throws', { type: 'remote', name: 'throws' });
    expect(await live.stop('w-throws')).toMatchObject({
      action: 'escalate',
      reason: 'Hook evaluation failed: check throws replied what is no JSON',
    });
    await begin('skips', { type: 'remote', name: 'throws', onError: 'skip' });
    expect(await live.stop('w-skips')).toMatchObject({ decision: 'allow', action: 'complete' });
  });

  test('after one that says complete is not asked', async () => {
    const asked = await live.serve('later', () => ({ action: 'continue', reason: 'no' }));
    await begin('first', { type: 'promise' });
    await live.client.publish('task.T-first.hook.registered', { hook: 'h2', type: 'remote', name: 'later' });
    expect(await live.stop('w-first', { output: '<promise>COMPLETE</promise>' })).toMatchObject({ decision: 'allow' });
    expect(asked).toEqual([]);
  });
});

describe('the seed’s own examples, as custom hooks of an iteration', () => {
  const evaluate = async (task: string, fields: object) =>
    (await live.client.ask(`evaluate.${task}`, fields)).body as unknown as HookResult;
  const loop = async (task: string, name: string, iteration: number) => {
    await live.client.publish(`task.${task}.hook.registered`, { hook: 'h1', type: 'remote', name });
    await live.client.publish(`task.${task}.iteration.started`, { iteration, maxIterations: 20 });
  };

  test('custom logic: too many iterations, nothing modified, or complete', async () => {
    await live.serve('own-logic', criteria);
    await loop('L-1', 'own-logic', 10);
    expect(await evaluate('L-1', { iteration: 10 })).toMatchObject({ action: 'continue' });
    expect(await evaluate('L-1', { iteration: 10, files: ['a.ts'] })).toMatchObject({
      hookId: 'h1',
      taskId: 'L-1',
      iteration: 10,
      action: 'complete',
      reason: 'Custom completion criteria met',
    });
    await live.client.publish('task.L-1.iteration.advanced');
    expect(await evaluate('L-1', { iteration: 11 })).toMatchObject({ action: 'escalate' });
  });

  test('a checkpoint halfway: it is created, with phase, step and context, and the loop goes on', async () => {
    await live.serve('halfway', ({ iteration }) => ({
      action: 'continue',
      reason: iteration === 5 ? 'Halfway checkpoint' : 'Iteration in progress',
      ...(iteration === 5
        ? { checkpointData: { executionPhase: 'midpoint', executionStep: 5, agentContext: { milestone: 'halfway' } } }
        : {}),
    }));
    await loop('L-2', 'halfway', 4);
    expect(await evaluate('L-2', { iteration: 4 })).toMatchObject({ checkpointCreated: false });
    await live.client.publish('task.L-2.iteration.advanced');
    expect(await evaluate('L-2', { iteration: 5 })).toMatchObject({
      action: 'continue',
      reason: 'Halfway checkpoint',
      checkpointCreated: true,
    });
    expect(await live.task('L-2')).toMatchObject({
      phase: 'midpoint',
      checkpoints: [{ phase: 'midpoint', step: 5 }],
      checkpoint: { context: { agentContext: { milestone: 'halfway' } } },
    });
  });

  test('metadata goes through as it is', async () => {
    await live.serve('tells', () => ({ action: 'continue', reason: 'r', metadata: { score: 7, of: ['a'] } }));
    await loop('L-3', 'tells', 1);
    expect(await evaluate('L-3', { iteration: 1 })).toMatchObject({ metadata: { score: 7, of: ['a'] } });
  });
});

test('hooks outlive a replica that is killed: kind, order, whether they are enabled, and the iteration', async () => {
  const at = await deploy({ start: serveShipped });
  const { client } = at;
  const task = async () => (await client.ask('get.task.T')).body;
  const stop = async (fields: object) => (await client.ask('decide.w', fields)).body;
  await client.publish('task.T.hook.registered', { hook: 'h1', type: 'promise' });
  await client.publish('task.T.hook.registered', { hook: 'h2', type: 'tdd', metadata: { description: 'tests first' } });
  await client.publish('task.T.hook.disabled', { hook: 'h1' });
  await client.publish('task.T.iteration.started', { iteration: 4, maxIterations: 9 });
  await client.publish('worker.w.task.claimed', { task: 'T' });
  await stop({ output: '<promise>COMPLETE</promise>' });
  const before = await task();
  expect(before).toMatchObject({
    iteration: 4,
    hooks: [
      { hook: 'h1', type: 'promise', enabled: false },
      { hook: 'h2', type: 'tdd', enabled: true },
    ],
  });

  await at.service.kill('SIGKILL');
  const other = await startService(['serve', '--nats', at.server.url, '--http', '127.0.0.1:0'], at.folder.path);
  try {
    expect(await task()).toEqual(before);
    expect(await stop({ output: '<promise>COMPLETE</promise>' })).toMatchObject({
      decision: 'block',
      reason: 'Tests still failing',
      nextPrompt: 'Fix failing tests and run again',
      retry: { count: 2 },
    });
    await client.publish('task.T.hook.enabled', { hook: 'h1' });
    expect(await stop({ output: '<promise>COMPLETE</promise>' })).toMatchObject({ decision: 'allow' });
  } finally {
    await endService(other);
    await at.close();
  }
});
