/** The tools over a service in memory: what they send, what they return, and what they check before they publish. */
import { describe, expect, test } from 'vitest';
import { createKeyedMutex } from '../../../src/concurrency/keyed-mutex.ts';
import { AppError } from '../../../src/errors.ts';
import { tools } from '../../../src/mcp/tools/index.ts';
import { createFakeService } from '../../integration/http/fake-service.ts';

const iterationId = 'IT-1-T-1';
type View = { hooks?: object[]; completionPromises?: string[] | null };

/** A task in its first iteration. `result` is the result of its hooks. */
function open({ hooks = [], completionPromises = null }: View = {}, result: object = {}) {
  const port = createFakeService();
  const view = {
    task: 'T-1',
    state: 'working',
    iteration: 1,
    maxIterations: 5,
    phase: null,
    checkpoints: [],
    refused: [],
  };
  port.views.set('T-1', { ...view, hooks, completionPromises });
  const none = { action: 'continue', reason: 'No hooks registered for this task', nextPrompt: null, metadata: {} };
  const evaluated = { hookId: 'default', taskId: 'T-1', iteration: 1, checkpointCreated: false, ...none, ...result };
  const { evaluate } = port;
  port.evaluate = async (task, body) => {
    await evaluate(task, body);
    return evaluated as never;
  };
  const context = { port, mutex: createKeyedMutex(), worker: null, newId: () => 'id1' };
  const call = async (name: string, input: object) => {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(name);
    return (await tool.run(context, tool.input.parse(input) as never)) as Record<string, unknown>;
  };
  return { port, call, validate: (work: object) => call('iteration_validate', { iterationId, ...work }) };
}

const said = (...names: string[]) => ({ agentOutput: names.map((name) => `<promise>${name}</promise>`).join(' ') });

describe('a loop without hooks', () => {
  test.each([
    { names: ['COMPLETE'], counted: null, signal: 'COMPLETE', action: 'complete' },
    { names: ['COMPLETE'], counted: ['COMPLETE', 'BLOCKED'], signal: 'COMPLETE', action: 'complete' },
    { names: ['COMPLETE'], counted: ['BLOCKED'], signal: 'CONTINUE', action: 'continue' },
    { names: ['BLOCKED'], counted: ['BLOCKED'], signal: 'ESCALATE', action: 'escalate' },
    { names: ['ESCALATE'], counted: null, signal: 'ESCALATE', action: 'escalate' },
    { names: ['BLOCKED', 'COMPLETE'], counted: null, signal: 'COMPLETE', action: 'complete' },
    { names: ['COMPLETE', 'BLOCKED'], counted: ['BLOCKED'], signal: 'ESCALATE', action: 'escalate' },
    { names: [], counted: null, signal: 'CONTINUE', action: 'continue' },
  ])('is answered by the promises that count: $names of $counted', async ({ names, counted, signal, action }) => {
    const { validate } = open({ completionPromises: counted });
    expect(await validate(said(...names))).toMatchObject({ completionSignal: signal, action });
  });

  test('includes a task whose hooks are all disabled; with a hook, only the hook decides', async () => {
    const off = open({ hooks: [{ hook: 'h', type: 'tdd', enabled: false }] });
    expect(await off.validate(said('COMPLETE'))).toMatchObject({ completionSignal: 'COMPLETE' });
    const on = open(
      { hooks: [{ hook: 'h', type: 'tdd', enabled: true }] },
      { hookId: 'h', reason: 'Tests still failing' },
    );
    expect(await on.validate(said('COMPLETE'))).toMatchObject({
      completionSignal: 'CONTINUE',
      detectedPromise: 'COMPLETE',
      reason: 'Tests still failing',
    });
  });
});

test('the most important promise is the detected one, whatever comes first in the text', async () => {
  const { validate } = open({ completionPromises: [] });
  expect(await validate(said('BLOCKED', 'ESCALATE'))).toMatchObject({ detectedPromise: 'ESCALATE' });
  expect(await validate(said('BLOCKED', 'ESCALATE', 'COMPLETE'))).toMatchObject({ detectedPromise: 'COMPLETE' });
  expect(await validate(said('BLOCKED'))).toMatchObject({ detectedPromise: 'BLOCKED' });
  expect(await validate({})).toMatchObject({ detectedPromise: null });
});

test('failed rules are those of the hook, otherwise the reported ones, each once', async () => {
  const validationResults = [
    { ruleName: 'lint', passed: false },
    { ruleName: 'types', passed: true },
    { ruleName: 'lint', passed: false },
  ];
  expect(await open().validate({ validationResults })).toMatchObject({ failedRules: ['lint'] });
  const hooked = open({}, { metadata: { failedRules: ['docs', 'docs'] } });
  expect(await hooked.validate({ validationResults })).toMatchObject({ failedRules: ['docs'] });
  const odd = open({}, { metadata: { failedRules: 'docs' } });
  expect(await odd.validate({ validationResults })).toMatchObject({ failedRules: ['lint'] });
});

test.each([
  { work: { draftType: 'plan' }, draft: { type: 'plan' } },
  { work: { draftContent: 'text' }, draft: { content: 'text' } },
  { work: { draftContent: 'text', draftType: 'plan' }, draft: { content: 'text', type: 'plan' } },
  { work: {}, draft: undefined },
])('a draft goes to the hooks as it is: $work', async ({ work, draft }) => {
  const { port, validate } = open();
  await validate(work);
  expect(port.requests.at(-1)?.body).toEqual({ iteration: 1, ...(draft === undefined ? {} : { draft }) });
});

test('a reported promise keeps its detection time', async () => {
  const { port, validate } = open();
  const completionPromises = [{ type: 'COMPLETE', detected: true, content: 'x', detectedAt: '2026-03-01T10:00:00Z' }];
  expect(await validate({ completionPromises })).toMatchObject({ completionSignal: 'COMPLETE' });
  expect(port.requests.at(-1)?.body).toMatchObject({ promises: completionPromises });
});

test("an agent's own context comes back as it was saved", async () => {
  const { port, call } = open();
  await call('checkpoint_create', { taskId: 'T-1', agentContext: { note: 'half' } });
  expect(port.published.at(-1)?.data).toMatchObject({ context: { note: 'half' } });
  const saved = { checkpoint: 'c', at: '', phase: null, step: null, context: { note: 'half' } };
  port.views.set('T-1', { ...port.views.get('T-1'), checkpoint: saved });
  expect(await call('checkpoint_resume', { taskId: 'T-1' })).toMatchObject({ agentContext: { note: 'half' } });
});

describe('nothing is published', () => {
  test.each(['hook_clear', 'hook_unregister'])('by %s about an unknown task', async (name) => {
    const { port, call } = open();
    const input = { taskId: 'T-9', ...(name === 'hook_unregister' ? { hookId: 'h' } : {}) };
    await expect(call(name, input)).rejects.toMatchObject({ code: 'actor.unknown' });
    expect(port.published).toEqual([]);
  });

  test('while the service does not answer', async () => {
    const { port, call } = open();
    port.get = () => Promise.reject(new AppError('service.unreachable', 'away'));
    await expect(call('hook_register', { taskId: 'T-1' })).rejects.toMatchObject({ code: 'service.unreachable' });
    expect(port.published).toEqual([]);
  });
});
