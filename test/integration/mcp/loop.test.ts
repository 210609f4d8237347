/** Seed 001's loop through the tools, on stdio and over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { type McpClient, openHttpClient, openStdioClient } from '../../support/mcp-client.ts';

const config = 'policies: { default: { checks: [{ plan: {} }] } }\n';
let at: Deployment;
let count = 0;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

const openStdio = () => openStdioClient(['--nats', at.server.url, '--worker', 'w1'], at.folder.path);
const openHttp = () => openHttpClient(`${at.http}/mcp?worker=w1`);

let mcp: McpClient;
let taskId: string;
beforeEach(() => {
  taskId = `T-${++count}`;
});

describe.each([
  ['stdio', openStdio],
  ['HTTP', openHttp],
])('over %s', (_name, open) => {
  beforeAll(async () => {
    mcp = await open();
  });
  afterAll(() => mcp.close());

  test('the loop: a failed rule continues, a promise completes, and the hooks are removed', async () => {
    const hook = await mcp.ok('hook_register', { taskId, hookType: 'default', metadata: { description: 'mine' } });
    expect(hook).toEqual({
      hookId: expect.stringMatching(/^HOOK-[a-z0-9]+$/),
      taskId,
      hookType: 'default',
      enabled: true,
      metadata: { description: 'mine' },
    });
    expect(await mcp.ok('task_get', { taskId })).toMatchObject({ taskId, state: 'idle', iterationId: null });

    const started = await mcp.ok('iteration_start', { taskId, maxIterations: 3, completionPromises: ['COMPLETE'] });
    expect(started).toEqual({
      iterationId: `IT-1-${taskId}`,
      taskId,
      iteration: 1,
      maxIterations: 3,
      completionPromises: ['COMPLETE'],
    });
    const first = await mcp.ok('iteration_validate', {
      iterationId: started.iterationId,
      agentOutput: 'Working on it',
      filesModified: ['src/auth.ts'],
      validationResults: [
        { ruleName: 'tests_pass', passed: false, message: '2 failed' },
        { ruleName: 'lint', passed: true },
      ],
    });
    expect(first).toMatchObject({
      hookId: hook.hookId,
      taskId,
      iteration: 1,
      action: 'continue',
      completionSignal: 'CONTINUE',
      reason: 'Failed rules: tests_pass',
      detectedPromise: null,
      failedRules: ['tests_pass'],
      nextPrompt: expect.stringContaining('tests_pass: 2 failed'),
      checkpointCreated: false,
    });

    const second = await mcp.ok('iteration_next', { iterationId: started.iterationId });
    expect(second).toEqual({ iterationId: `IT-2-${taskId}`, taskId, iteration: 2, maxIterations: 3 });
    const work = {
      iterationId: second.iterationId,
      agentOutput: 'Implementation complete. <promise>COMPLETE</promise>',
      draftContent: '// code',
      draftType: 'implementation',
    };
    expect(await mcp.ok('hook_evaluate', work)).toEqual({
      hookId: hook.hookId,
      taskId,
      iteration: 2,
      action: 'complete',
      reason: 'Agent signaled completion via <promise>COMPLETE</promise>',
      nextPrompt: null,
      checkpointCreated: false,
      metadata: {},
    });
    expect(await mcp.ok('iteration_validate', work)).toMatchObject({
      completionSignal: 'COMPLETE',
      detectedPromise: 'COMPLETE',
      failedRules: [],
    });
    expect(
      await mcp.ok('iteration_complete', { iterationId: second.iterationId, completionPromise: 'COMPLETE' }),
    ).toMatchObject({ taskId, iteration: 2, completed: true, hooksCleared: 1 });
    expect(await mcp.ok('hook_clear', { taskId })).toEqual({ taskId, hooksCleared: 0 });
  });

  test('one of two concurrent calls of iteration_next succeeds', async () => {
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 9 });
    const answers = await Promise.all([1, 2, 3].map(() => mcp.call('iteration_next', { iterationId })));
    expect(answers.filter(({ isError }) => !isError).map(({ data }) => data.iteration)).toEqual([2]);
    expect(await mcp.ok('task_get', { taskId })).toMatchObject({ iteration: 2 });
  });

  test('another session resumes a checkpoint, with the iteration and the hooks', async () => {
    const { hookId } = await mcp.ok('hook_register', { taskId, hookType: 'tdd' });
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
    await mcp.ok('iteration_next', { iterationId });
    const early = await mcp.ok('checkpoint_create', { taskId, checkpointId: 'early', executionPhase: 'planning' });
    expect(early).toMatchObject({ checkpointId: 'early', taskId, iteration: 2, executionPhase: 'planning' });
    const saved = await mcp.ok('checkpoint_create', {
      taskId,
      executionPhase: 'testing',
      executionStep: 3,
      agentContext: { files: ['a.ts'], note: 'half' },
    });
    const other = await open();
    const resumed = await other.ok('checkpoint_resume', { taskId });
    const named = await other.ok('checkpoint_resume', { taskId, checkpointId: 'early' });
    await other.close();
    expect(resumed).toEqual({
      ...saved,
      agentContext: { files: ['a.ts'], note: 'half' },
      executionPhase: 'testing',
      executionStep: 3,
      iteration: 2,
      iterationId: `IT-2-${taskId}`,
      maxIterations: 5,
      hooks: [{ id: hookId, hookType: 'tdd', enabled: true }],
    });
    expect(named).toMatchObject({ checkpointId: 'early', executionPhase: 'planning', agentContext: null });
  });

  test('a worker claims a task, learns what is missing, and completes it', async () => {
    const worker = `mcp-${count}`;
    await at.client.publish(`task.${taskId}.task.created`, {
      title: 'Fix it',
      plan: [{ title: 'Write tests', status: 'pending', step: 's1' }],
    });
    expect(await mcp.ok('task_claim', { taskId, worker })).toMatchObject({ taskId, state: 'working', worker });
    const blocked = { decision: 'block', cause: 'incomplete', nextPrompt: expect.stringContaining('Write tests') };
    expect(await mcp.ok('probe', { worker })).toMatchObject({ ...blocked, dryRun: true });
    expect(await mcp.ok('verify', { worker })).toMatchObject({ complete: false, decision: blocked });
    expect(await mcp.ok('decide', { worker, attempt: 'a1', agentOutput: 'done' })).toMatchObject({
      ...blocked,
      attempt: 'a1',
      dryRun: false,
      retry: { count: 1, max: 3 },
    });
    await at.client.publish(`worker.${worker}.step.updated`, { step: 's1', status: 'done' });
    expect(await mcp.ok('verify', { worker })).toMatchObject({ complete: true, decision: { decision: 'allow' } });
    expect(await mcp.ok('verify', { taskId })).toMatchObject({ complete: true, decision: { tasks: [taskId] } });
    expect(await mcp.ok('task_complete', { taskId, worker, result: { pr: 7 } })).toMatchObject({
      taskId,
      state: 'stopped',
      outcome: 'completed',
    });
    expect(await mcp.ok('verify', { taskId })).toMatchObject({ complete: false, decision: null, said: true });
    expect(await mcp.ok('worker_get', { worker })).toMatchObject({
      worker,
      state: 'idle',
      tasks: [],
      standing: { waits: [], missing: [] },
    });
  });
});

describe('over stdio, whose requests go through NATS', () => {
  beforeAll(async () => {
    mcp = await openStdio();
  });
  afterAll(() => mcp.close());

  test('lists all tools, each with schemas and hints, and explains how to use them', async () => {
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'checkpoint_create',
      'checkpoint_resume',
      'decide',
      'docs_search',
      'hook_clear',
      'hook_evaluate',
      'hook_list',
      'hook_register',
      'hook_unregister',
      'iteration_complete',
      'iteration_next',
      'iteration_start',
      'iteration_validate',
      'probe',
      'task_claim',
      'task_complete',
      'task_fail',
      'task_get',
      'task_next',
      'task_release',
      'verify',
      'worker_get',
    ]);
    for (const { title, description, inputSchema, outputSchema, annotations } of tools) {
      expect(title).toBeTruthy();
      expect(description).toBeTruthy();
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: 'object' });
      expect(annotations).toMatchObject({ openWorldHint: false, readOnlyHint: expect.any(Boolean) });
    }
    expect(mcp.client.getInstructions()).toContain('iteration_validate');
    expect(mcp.client.getServerVersion()).toMatchObject({ name: 'stopgate', version: expect.stringMatching(/^\d/) });
  });

  test('finds sections of the documentation, also for a question in a sentence', async () => {
    const { results } = await mcp.ok('docs_search', { query: 'budget dollars' });
    const [first] = results as { url: string; text: string; isCut: boolean }[];
    expect(first?.url).toMatch(/^[\w/-]+\.html/);
    expect(first?.text).toMatch(/budget/i);
    const asked = await mcp.ok('docs_search', { query: 'whatever shall I do xyzzy about fleetPattern shards' });
    expect((asked.results as unknown[]).length).toBeGreaterThan(0);
    expect((await mcp.ok('docs_search', { query: 'xyzzyplugh' })).results).toEqual([]);
  });

  test('with rules in the iteration, an unreported rule has failed, and other rules do not count', async () => {
    await mcp.ok('hook_register', { taskId });
    const rules = ['tests_pass', 'types'];
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 3, rules });
    const validationResults = [
      { ruleName: 'types', passed: true },
      { ruleName: 'lint', passed: false },
    ];
    expect(await mcp.ok('iteration_validate', { iterationId, validationResults })).toMatchObject({
      completionSignal: 'CONTINUE',
      reason: 'Failed rules: tests_pass',
      failedRules: ['tests_pass'],
    });
  });

  test('one of several workers that claim a task at once gets it', async () => {
    const claim = (index: number) => mcp.call('task_claim', { taskId, worker: `race-${taskId}-${index}` });
    const answers = await Promise.all([1, 2, 3, 4, 5].map(claim));
    const [won, ...more] = answers.filter(({ isError }) => !isError);
    expect(more).toEqual([]);
    expect((await mcp.ok('task_get', { taskId })).worker).toBe(won?.data.worker);
  });

  test('the last iteration escalates instead of continuing', async () => {
    await mcp.ok('hook_register', { taskId, hookType: 'promise' });
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 1 });
    expect(await mcp.ok('iteration_validate', { iterationId })).toMatchObject({
      completionSignal: 'ESCALATE',
      reason: 'Maximum iterations reached (1)',
    });
    expect(await mcp.call('iteration_next', { iterationId })).toMatchObject({
      isError: true,
      text: expect.stringContaining('is the last'),
    });
  });

  test('BLOCKED and ESCALATE escalate, and a quoted promise does not count', async () => {
    await mcp.ok('hook_register', { taskId });
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
    const signal = async (agentOutput: string) => {
      const { completionSignal, detectedPromise } = await mcp.ok('iteration_validate', { iterationId, agentOutput });
      return [completionSignal, detectedPromise];
    };
    expect(await signal('<promise>BLOCKED</promise>')).toEqual(['ESCALATE', 'BLOCKED']);
    expect(await signal('<promise>ESCALATE</promise>')).toEqual(['ESCALATE', 'ESCALATE']);
    expect(await signal('> <promise>COMPLETE</promise>')).toEqual(['CONTINUE', null]);
  });

  test('without hooks, a promise that counts ends the loop', async () => {
    const { iterationId } = await mcp.ok('iteration_start', {
      taskId,
      maxIterations: 5,
      completionPromises: ['BLOCKED'],
    });
    const signal = async (agentOutput: string) =>
      (await mcp.ok('iteration_validate', { iterationId, agentOutput })).completionSignal;
    expect(await signal('<promise>COMPLETE</promise>')).toBe('CONTINUE');
    expect(await signal('<promise>BLOCKED</promise>')).toBe('ESCALATE');
  });

  test('hooks are listed in order, run in order, and cleared', async () => {
    const one = await mcp.ok('hook_register', {
      taskId,
      hookType: 'validation',
      enabled: false,
      metadata: { owner: 'me' },
    });
    const two = await mcp.ok('hook_register', {
      taskId,
      hookType: 'all',
      hookId: 'both',
      of: [{ hookType: 'promise' }, { hookType: 'any', of: [{ hookType: 'tdd' }, { hookType: 'validation' }] }],
    });
    expect(await mcp.ok('hook_list', { taskId })).toEqual({
      taskId,
      hookCount: 2,
      hooks: [
        { id: one.hookId, enabled: false, metadata: { type: 'validation', owner: 'me' } },
        { id: 'both', enabled: true, metadata: { type: 'all' } },
      ],
    });
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
    const validationResults = [{ ruleName: 'tests_pass', passed: true }];
    expect(await mcp.ok('hook_evaluate', { iterationId, validationResults })).toMatchObject({
      hookId: two.hookId,
      action: 'continue',
      reason: 'No completion promise detected',
    });
    const agentOutput = '<promise>COMPLETE</promise>';
    expect(await mcp.ok('hook_evaluate', { iterationId, validationResults, agentOutput })).toMatchObject({
      action: 'complete',
    });
    expect(await mcp.ok('hook_unregister', { taskId, hookId: one.hookId })).toEqual({
      taskId,
      hookId: one.hookId,
      hookCount: 1,
    });
    expect(await mcp.call('hook_unregister', { taskId, hookId: one.hookId })).toMatchObject({ isError: true });
    expect(await mcp.ok('hook_clear', { taskId })).toEqual({ taskId, hooksCleared: 1 });
    expect(await mcp.ok('hook_evaluate', { iterationId })).toMatchObject({
      hookId: 'default',
      action: 'continue',
      reason: 'No hooks registered for this task',
    });
  });

  test('a loop that is given up leaves the task unchanged, and names the tools that mark it', async () => {
    const worker = `mcp-${count}`;
    await mcp.ok('task_claim', { taskId, worker });
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
    const ended = await mcp.ok('iteration_complete', { iterationId, completionPromise: 'BLOCKED' });
    expect(ended.nextStep).toMatch(/is still working: .*task_fail .*task_release/);
    expect(await mcp.ok('task_fail', { taskId, worker, reason: 'no key' })).toMatchObject({
      taskId,
      state: 'escalated',
      worker: null,
      escalation: { reason: expect.stringContaining('no key') },
    });
    expect(await mcp.call('task_release', { taskId, worker })).toMatchObject({ isError: true });
  });

  test('a task that is released is free again', async () => {
    const worker = `mcp-${count}`;
    await mcp.ok('task_claim', { taskId, worker });
    expect(await mcp.ok('task_release', { taskId, worker })).toMatchObject({ taskId, state: 'idle', worker: null });
    expect(await mcp.ok('task_claim', { taskId, worker: 'another' })).toMatchObject({ worker: 'another' });
    await mcp.ok('task_complete', { taskId, worker: 'another' });
  });

  test('after a COMPLETE there is nothing to mark', async () => {
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
    expect(await mcp.ok('iteration_complete', { iterationId })).not.toHaveProperty('nextStep');
  });

  test('the worker can be set once for all calls', async () => {
    await mcp.ok('task_claim', { taskId });
    expect(await mcp.ok('worker_get')).toMatchObject({ worker: 'w1', tasks: expect.arrayContaining([taskId]) });
    await mcp.ok('task_complete', { taskId });
  });
});
