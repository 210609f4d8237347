/** Seed 001, Types: the input and the result of a hook. */
import { expect } from 'vitest';
import type { HookResult, TaskDetail } from '../../../machines/index.ts';
import { readAgentContext } from '../../../src/client/agent-context.ts';
import type { AgentContext, Client } from '../../../src/client/index.ts';
import { type Check, differs, holds, part, type Rule } from '../rule.ts';
import type { SeedService } from '../service.ts';
import { iterate, promises } from './iteration.ts';

/** Returns two contexts of one hook: of an iteration with all fields, and of one with none. */
async function contextsOf(service: SeedService, client: Client): Promise<[AgentContext, AgentContext]> {
  const task = await service.task([], { iteration: 3 });
  const contexts: AgentContext[] = [];
  await client.registerStopHook({ taskId: task.id }, (context) => {
    contexts.push(context);
    return { action: 'continue', reason: 'go on' };
  });
  await task.evaluate();
  await task.publish('checkpoint.saved', { checkpoint: 'c1', phase: 'testing' });
  await task.evaluate({
    output: 'Nearly. <promise>BLOCKED</promise>',
    files: ['src/auth.ts'],
    validation: [{ rule: 'tests_pass', passed: false, message: '1 fails' }],
    draft: { content: '// code', type: 'implementation' },
  });
  const [empty, full] = contexts as [AgentContext, AgentContext];
  expect(full.taskId).toBe(task.id);
  return [full, empty];
}

/** Checks a field of the context: its value in an iteration with all fields, and in one with none. */
const field =
  (name: keyof AgentContext, full: unknown, empty: unknown): Check =>
  async ({ service, client }) => {
    const contexts = await contextsOf(service, client);
    expect(contexts.map((context) => context[name])).toEqual([full, empty]);
  };
const onWire = (name: string) => `in TypeScript; on the wire \`${name}\`, because its names are those of the log`;

const context = part(
  'AgentContext',
  differs('`taskId`: the task that is iterated', onWire('task'), async ({ service, client }) => {
    const [full, empty] = await contextsOf(service, client);
    expect(full.taskId).toMatch(/^T-/);
    expect(empty.taskId).toBe(full.taskId);
  }),
  differs(
    '`iteration`: the current one, from 1',
    '0 at the stop of a worker whose task has begun no iteration, because hooks are asked at a stop too',
    async ({ service, client }) => {
      const contexts = await contextsOf(service, client);
      expect(contexts.map(({ iteration }) => iteration)).toEqual([3, 3]);
      const { name, asked } = await service.serveCheck(() => ({ action: 'complete', reason: 'r' }));
      const [worker, task] = [await service.worker(null), service.newId('T')];
      await service.wire.publish(`task.${task}.hook.registered`, { type: 'remote', name });
      await worker.publish('task.claimed', { task });
      await worker.stop();
      expect(readAgentContext(JSON.stringify(asked[0]))).toMatchObject({ taskId: task, iteration: 0 });
    },
  ),
  differs('`executionPhase`: the current phase, or null', onWire('phase'), field('executionPhase', 'testing', null)),
  differs(
    '`filesModified`: the files changed in this iteration',
    'those that the call names, and those that the worker of the task has changed in this iteration, because an agent does not always name them all; a claim and a person’s prompt begin the list again, because the work is another one then',
    async ({ service, client }) => {
      const [task, worker] = [await service.task([]), await service.worker(null)];
      const files: (readonly string[])[] = [];
      await client.registerStopHook({ taskId: task.id }, ({ filesModified }) => {
        files.push(filesModified);
        return { action: 'continue', reason: 'go on' };
      });
      await task.evaluate({ files: ['src/auth.ts'] });
      await worker.publish('tool.used', { tool: 'Write', files: ['before.ts'] });
      await worker.publish('task.claimed', { task: task.id });
      await worker.publish('tool.used', { tool: 'Write', files: ['src/auth.test.ts'] });
      await task.evaluate({ files: ['src/auth.ts'] });
      const begin = [
        () => worker.publish('prompt.submitted'),
        () => task.publish('iteration.advanced'),
        () => worker.publish('task.claimed', { task: task.id }),
      ];
      for (const again of begin) {
        await worker.publish('tool.used', { tool: 'Write', files: ['again.ts'] });
        await again();
        await task.evaluate();
      }
      expect(files).toEqual([['src/auth.ts'], ['src/auth.test.ts', 'src/auth.ts'], [], [], []]);
    },
  ),
  differs(
    '`validationResults`: the results of the validation rules',
    'in TypeScript; on the wire `ruleName` is `rule`, because its names are those of the log',
    field('validationResults', [{ ruleName: 'tests_pass', passed: false, message: '1 fails' }], []),
  ),
  holds(
    '`completionPromises`: the promises that were detected',
    field('completionPromises', [{ type: 'BLOCKED', detected: true, content: '<promise>BLOCKED</promise>' }], []),
  ),
  holds('`agentOutput`, if any', field('agentOutput', 'Nearly. <promise>BLOCKED</promise>', undefined)),
  holds('`draftContent`, if any', field('draftContent', '// code', undefined)),
  holds('`draftType`, if any', field('draftType', 'implementation', undefined)),
);

/** Returns the effect of a hook that returns this. */
async function resultOf(returned: object, service: SeedService): Promise<{ result: HookResult; task: TaskDetail }> {
  const { name } = await service.serveCheck(() => ({ action: 'continue', reason: 'r', ...returned }));
  const task = await service.task([{ type: 'remote', name }]);
  return { result: await task.evaluate(), task: await task.view() };
}

/** Returns the task after such a hook has answered the stop of its worker. */
async function stopWith(returned: object, service: SeedService): Promise<TaskDetail> {
  const { name } = await service.serveCheck(() => ({ action: 'continue', reason: 'r', ...returned }));
  const [task, worker] = [await service.task([{ type: 'remote', name }]), await service.worker(null)];
  await worker.publish('task.claimed', { task: task.id });
  expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'r' });
  return task.view();
}

const result = part(
  'StopHookResult',
  holds('`action`: complete, continue or escalate', async ({ service }) => {
    for (const action of ['complete', 'continue', 'escalate'])
      expect((await resultOf({ action }, service)).result.action).toBe(action);
    const unknown = await resultOf({ action: 'explode' }, service);
    expect(unknown.result).toMatchObject({
      action: 'escalate',
      reason: expect.stringMatching(/^Hook evaluation failed/),
    });
  }),
  holds('`reason`: an explanation for people', async ({ service }) => {
    expect((await resultOf({ reason: 'two tests are red' }, service)).result.reason).toBe('two tests are red');
  }),
  holds('`nextPrompt`, if any: the prompt of the next iteration', async ({ service }) => {
    expect((await resultOf({ nextPrompt: 'Fix the tests' }, service)).result.nextPrompt).toBe('Fix the tests');
    expect((await resultOf({}, service)).result.nextPrompt).toBeNull();
  }),
  holds('`checkpointData`, if any: a checkpoint is created', async ({ service }) => {
    const checkpointData = { executionPhase: 'midpoint', executionStep: 5, agentContext: { milestone: 'halfway' } };
    const saved = await resultOf({ checkpointData }, service);
    expect(saved.result.checkpointCreated).toBe(true);
    expect(saved.task).toMatchObject({
      phase: 'midpoint',
      checkpoints: [{ phase: 'midpoint', step: 5 }],
      checkpoint: { context: { milestone: 'halfway' } },
    });
    const atStop = await stopWith({ checkpointData }, service);
    expect(atStop).toMatchObject({
      phase: 'midpoint',
      checkpoints: [{ phase: 'midpoint', step: 5 }],
      checkpoint: { context: { milestone: 'halfway' } },
    });
    const { name } = await service.serveCheck(() => ({ action: 'continue', reason: 'r', checkpointData }));
    const followed = await service.task([{ type: 'remote', name }, { type: 'promise' }]);
    const answer = { hookId: 'h2', action: 'complete', checkpointCreated: true };
    expect(await followed.evaluate(promises('COMPLETE')), 'of a hook before the one that answers').toMatchObject(
      answer,
    );
    expect(await followed.view()).toMatchObject({ checkpoint: { context: { milestone: 'halfway' } } });
    const none = await resultOf({}, service);
    expect(none.result.checkpointCreated).toBe(false);
    expect(none.task.checkpoints).toEqual([]);
  }),
  holds('`metadata`, if any', async ({ service }) => {
    const metadata = { score: 7, of: ['a'] };
    expect((await resultOf({ metadata }, service)).result.metadata).toEqual(metadata);
    expect((await resultOf({}, service)).result.metadata).toEqual({});
  }),
);

const promise: Rule[] = [
  holds('`type`: COMPLETE, BLOCKED or ESCALATE', () => {
    const { action } = iterate([{ type: 'promise' }]);
    expect(['COMPLETE', 'BLOCKED', 'ESCALATE', 'DONE'].map((name) => action(promises(name)))).toEqual([
      'complete',
      'escalate',
      'escalate',
      'continue',
    ]);
  }),
  holds('`detected`: one that was not detected does not count', () => {
    const { action } = iterate([{ type: 'promise' }]);
    const given = (detected: boolean) => ({ promises: [{ type: 'COMPLETE', detected, content: 'COMPLETE' }] });
    expect([action(given(true)), action(given(false))]).toEqual(['complete', 'continue']);
    expect(action({ ...given(false), ...promises('COMPLETE') }), 'what the caller detected counts').toBe('continue');
  }),
  holds('`content`: the text of the promise', async ({ service, client }) => {
    const task = await service.task([]);
    const contents: (string | undefined)[] = [];
    await client.registerStopHook({ taskId: task.id }, ({ completionPromises }) => {
      contents.push(completionPromises[0]?.content);
      return { action: 'continue', reason: 'r' };
    });
    await task.evaluate({ output: 'Done: <promise>COMPLETE</promise>.' });
    await task.evaluate({ promises: [{ type: 'COMPLETE', detected: true, content: 'all of it' }] });
    expect(contents).toEqual(['<promise>COMPLETE</promise>', 'all of it']);
  }),
  differs(
    '`detectedAt`, if any: an ISO timestamp',
    'hooks get it as it was reported, and a promise that the service detects has none: the time of its log entry counts, because clocks of agents differ',
    async ({ service, client }) => {
      const task = await service.task([]);
      const detected: object[] = [];
      await client.registerStopHook({ taskId: task.id }, ({ completionPromises }) => {
        detected.push(...completionPromises);
        return { action: 'continue', reason: 'r' };
      });
      const given = { type: 'COMPLETE', detected: true, content: 'done', detectedAt: '2025-12-30T12:00:00.000Z' };
      await task.evaluate({ promises: [given] });
      const [entry] = await service.entries(`task.${task.id}.iteration.validated`);
      expect(entry).toMatchObject({ at: expect.stringMatching(/^\d{4}-.*Z$/), data: { promises: [given] } });
      expect(detected).toEqual([given]);
      detected.length = 0;
      await task.evaluate({ output: '<promise>COMPLETE</promise>' });
      expect(detected).toEqual([{ type: 'COMPLETE', detected: true, content: '<promise>COMPLETE</promise>' }]);
    },
  ),
  differs(
    'promises are detected in the output of the agent',
    'one in code, in a quote, or with other text in the tag does not count, because quoted promises have ended loops',
    () => {
      const { action } = iterate([{ type: 'promise' }]);
      const outputs = {
        'Implementation complete. <promise>COMPLETE</promise>': 'complete',
        'Write this at the end:\n```\n<promise>COMPLETE</promise>\n```': 'continue',
        'Say `<promise>COMPLETE</promise>` at the end': 'continue',
        '> <promise>COMPLETE</promise>': 'continue',
        '<promise>COMPLETE soon</promise>': 'continue',
      };
      const actions = Object.keys(outputs).map((output) => [output, action({ output })]);
      expect(Object.fromEntries(actions)).toEqual(outputs);
    },
  ),
];

export const types = [context, result, part('CompletionPromise', ...promise)];
