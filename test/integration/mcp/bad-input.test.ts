/** An agent's mistakes: each gets a tool error that says what is wrong and what to do, and changes nothing. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { type McpClient, openHttpClient, openStdioClient } from '../../support/mcp-client.ts';

let at: Deployment;
let mcp: McpClient;
beforeAll(async () => {
  at = await deploy();
  mcp = await openStdioClient(['--nats', at.server.url], at.folder.path);
});
afterAll(async () => {
  await mcp.close();
  await at.close();
});

/** Entries about tasks and workers; those of replicas may come at any time. */
const stored = async () => {
  const counts = async (filter: string) =>
    (await at.client.manager.streams.info('STOPGATE_main', { subjects_filter: filter })).state.subjects ?? {};
  return { ...(await counts('stopgate.main.task.>')), ...(await counts('stopgate.main.worker.>')) };
};
const nested = (depth: number): object =>
  depth === 0 ? { hookType: 'tdd' } : { hookType: 'all', of: [nested(depth - 1)] };

test.each([
  ['an unknown tool', 'hook_regist', {}, /no tool 'hook_regist'; the tools are: hook_register, /],
  ['no task', 'task_get', {}, /taskId: .*task_get takes: taskId$/],
  ['a wrong type', 'task_get', { taskId: 7 }, /taskId: /],
  ['a bad id', 'task_get', { taskId: 'a.b' }, /taskId: is not an id/],
  ['a misspelt field', 'hook_register', { taskId: 'X', hooktype: 'tdd' }, /"hooktype".*takes: taskId, hookType\?/],
  ['an unknown hook type', 'hook_register', { taskId: 'X', hookType: 'magic' }, /hookType: .*"default"/],
  [
    'an unknown type of a member',
    'hook_register',
    { taskId: 'X', hookType: 'all', of: [{ hookType: 'all', of: [{ hookType: 'magic' }] }] },
    /of\.0\.of\.0\.hookType: .*"default"/,
  ],
  ['all without members', 'hook_register', { taskId: 'X', hookType: 'all' }, /hookType "all" needs "of"/],
  ['members that are no objects', 'hook_register', { taskId: 'X', hookType: 'any', of: ['tdd'] }, /of\.0: /],
  ['remote without a name', 'hook_register', { taskId: 'X', hookType: 'remote' }, /hookType "remote" needs "name"/],
  ['members too deep', 'hook_register', { taskId: 'X', ...nested(5) }, /hooks may nest 4 deep/],
  ['fields too deep', 'hook_register', { taskId: 'X', ...nested(200) }, /nest 100 deep/],
  ['a bad glob', 'hook_register', { taskId: 'X', when: { filesMatch: 'x'.repeat(300) } }, /when\.filesMatch: /],
  ['no iterations', 'iteration_start', { taskId: 'X', maxIterations: 0 }, /maxIterations: /],
  [
    'an unknown promise',
    'iteration_start',
    { taskId: 'X', maxIterations: 3, completionPromises: ['DONE'] },
    /completionPromises\.0: .*"COMPLETE"/,
  ],
  ['no iterationId', 'iteration_validate', { iterationId: 'T-1' }, /'T-1' is not an iterationId; use the one that /],
  ['an iterationId of nowhere', 'iteration_next', { iterationId: 'IT-1-X' }, /task X is unknown; create it with /],
  ['an unknown task', 'task_get', { taskId: 'X' }, /task X is unknown; create it with .*task\.created/],
  ['hooks of an unknown task', 'hook_list', { taskId: 'X' }, /task X is unknown/],
  ['clearing an unknown task', 'hook_clear', { taskId: 'X' }, /task X is unknown/],
  ['a checkpoint of an unknown task', 'checkpoint_resume', { taskId: 'X' }, /task X is unknown/],
  ['completing an unknown task', 'task_complete', { taskId: 'X', worker: 'w9' }, /task X is unknown/],
  ['no worker', 'decide', {}, /no worker given: pass `worker`, or set it once with .*--worker W/],
  ['an unknown worker', 'worker_get', { worker: 'w9' }, /worker w9 is unknown; its first entry registers it/],
  [
    'a context that is too large',
    'checkpoint_create',
    { taskId: 'X', agentContext: 'x'.repeat(70_000) },
    /the limit is 65536 bytes\. Nothing was stored; shorten/,
  ],
  ['a draft that is too large', 'decide', { worker: 'w9', draftContent: 'x'.repeat(1_000_000) }, /65536.*shorten/],
])('%s', async (_what, tool, input, message) => {
  const before = await stored();
  const answer = await mcp.call(tool, input);
  expect(answer).toEqual({ isError: true, text: expect.stringMatching(message), data: {} });
  expect(await stored()).toEqual(before);
});

test('an iteration that is not current, or has ended', async () => {
  const taskId = 'I';
  expect((await mcp.call('hook_register', { taskId })).isError).toBe(false);
  const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 3 });
  const failing = async (tool: string, id: unknown) => {
    const { isError, text } = await mcp.call(tool, { iterationId: id });
    return isError ? text : '';
  };
  const second = (await mcp.ok('iteration_next', { iterationId })).iterationId;
  for (const tool of ['iteration_next', 'iteration_validate', 'hook_evaluate', 'iteration_complete'])
    expect(await failing(tool, iterationId)).toBe(
      `IT-1-${taskId} is not the current iteration of task ${taskId}; continue with IT-2-${taskId}`,
    );
  expect((await mcp.ok('task_get', { taskId })).iteration).toBe(2);
  await mcp.ok('iteration_complete', { iterationId: second });
  for (const tool of ['iteration_next', 'iteration_validate', 'hook_evaluate', 'iteration_complete'])
    expect(await failing(tool, second)).toBe('iteration 2 is completed; start a new loop with iteration_start');
  expect((await mcp.ok('task_get', { taskId })).iteration).toBe(2);
});

test('an iteration of a task without one', async () => {
  const taskId = 'N';
  await mcp.ok('hook_register', { taskId });
  expect((await mcp.call('iteration_validate', { iterationId: `IT-1-${taskId}` })).text).toBe(
    `task ${taskId} has no iteration yet; start one with iteration_start`,
  );
});

test('a hook id that exists, and the 65th hook', async () => {
  const taskId = 'H';
  await mcp.ok('hook_register', { taskId, hookId: 'mine', hookType: 'tdd' });
  expect(await mcp.call('hook_register', { taskId, hookId: 'mine' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^hook mine exists; hook_list shows/),
  });
  for (let hook = 2; hook <= 64; hook += 1) await at.client.publish(`task.${taskId}.hook.registered`, { type: 'tdd' });
  expect(await mcp.call('hook_register', { taskId })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/has 64 hooks, the maximum; .*hook_clear/),
  });
  expect(await mcp.ok('hook_list', { taskId })).toMatchObject({ hookCount: 64 });
});

test('a claim of a held task, and the completion of one that is not held, over stdio and over HTTP', async () => {
  const http = await openHttpClient(`${at.http}/mcp`);
  onTestFinished(() => http.close());
  for (const [taskId, client] of [
    ['C', mcp],
    ['C-http', http],
  ] as const) {
    await client.ok('task_claim', { taskId, worker: 'first' });
    const claim = { taskId, worker: 'second' };
    const refused = {
      isError: true,
      text: `task ${taskId} is held by first; claim another one, or wait until it is free (task_get)`,
    };
    expect(await client.call('task_claim', claim)).toMatchObject(refused);
    // A repeat reports an equal refusal.
    expect(await client.call('task_claim', claim)).toMatchObject(refused);
    expect(await client.call('task_complete', claim)).toMatchObject({
      isError: true,
      text: `worker second does not hold task ${taskId} (first holds it); claim it with task_claim first`,
    });
    expect(await client.ok('task_claim', { taskId, worker: 'first' })).toMatchObject({ worker: 'first' });
    await client.ok('task_complete', { taskId, worker: 'first' });
    expect((await client.call('task_claim', claim)).text).toContain(`task ${taskId} is completed`);
  }
});

test('a refusal is reported even after more refusals than a worker lists', async () => {
  const worker = 'busy';
  await mcp.ok('task_claim', { taskId: 'B', worker: 'holder' });
  for (let index = 0; index < 25; index += 1) await at.client.publish(`worker.${worker}.task.claimed`, { task: 'B' });
  expect((await mcp.call('task_claim', { taskId: 'B', worker })).isError).toBe(true);
  expect((await mcp.call('task_claim', { taskId: 'B2', worker })).isError).toBe(false);
});

test('an unknown checkpoint', async () => {
  const taskId = 'P';
  await mcp.ok('hook_register', { taskId });
  const resume = async (input: object = {}) => (await mcp.call('checkpoint_resume', { taskId, ...input })).text;
  expect(await resume()).toBe(`task ${taskId} has no checkpoint; save one with checkpoint_create`);
  await mcp.ok('checkpoint_create', { taskId, checkpointId: 'c1' });
  expect(await resume({ checkpointId: 'c2' })).toBe(`task ${taskId} has no checkpoint c2; it has: c1`);
});

test('an output of 1 MB is cut to its end, with a note', async () => {
  const taskId = 'L';
  await mcp.ok('hook_register', { taskId });
  const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 3 });
  const agentOutput = `<promise>BLOCKED</promise>${'é'.repeat(500_000)}\n<promise>COMPLETE</promise>`;
  expect(await mcp.ok('iteration_validate', { iterationId, agentOutput })).toMatchObject({
    completionSignal: 'COMPLETE',
    detectedPromise: 'COMPLETE',
    notes: ['agentOutput is over 32 KiB; only its last 32 KiB were used'],
  });
});
