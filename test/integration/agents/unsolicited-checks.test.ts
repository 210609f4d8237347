/** Answers to an agent that did not ask to stop, from a real service that runs a check. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { ask } from '../http/request.ts';

/** JSON is valid YAML. The check's result depends on a file, and every run leaves a mark. */
const config = JSON.stringify({
  policies: {
    default: { checks: [{ command: 'tests' }] },
    strict: { checks: [{ plan: {} }, { command: 'tests' }], stopWhenComplete: true, steps: 'gate' },
  },
  assign: ['strict', 'strict-2'].map((worker) => ({ worker, policy: 'strict' })),
  commands: {
    tests: {
      run: [
        'sh',
        '-c',
        'echo run >> runs; grep -q lost state && exit 127; grep -q pass state || { echo 2 red; exit 1; }',
      ],
      cwd: '.',
    },
  },
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());
beforeEach(() => Promise.all([write('state', 'fail'), write('runs', '')]));

const write = (name: string, text: string) => writeFile(join(at.folder.path, name), text);
const runs = async () => (await readFile(join(at.folder.path, 'runs'), 'utf8')).split('\n').length - 1;
const call = async (session: string, name: string, more: object = {}) => {
  const { status, json } = await ask(at.http, '/hooks/claude', {
    body: { ...recorded(name), session_id: session, ...more },
  });
  return [status, json];
};

test('a step is refused with the output of failing tests; once they pass, it is marked and the agent is told to stop', async () => {
  await call('strict', 'PostToolUse.TaskCreate');
  expect(await call('strict', 'TaskCompleted')).toEqual([
    200,
    { decision: 'block', reason: expect.stringMatching(/^The step is not marked as done\..*2 red/s) },
  ]);
  expect(await call('strict', 'PostToolBatch')).toEqual([204, null]);
  expect(await runs(), 'the plan is not done: no need to run the tests').toBe(1);
  await write('state', 'pass');
  expect(await call('strict', 'TaskCompleted')).toEqual([204, null]);
  await call('strict', 'PostToolUse.TaskUpdate.completed');
  expect(await call('strict', 'PostToolBatch')).toEqual([200, { continue: false, stopReason: expect.any(String) }]);
  const { body } = await at.client.ask('get.worker.strict');
  expect(body as unknown as WorkerView).toMatchObject({
    state: 'stopped',
    retry: { count: 0 },
    lastDecision: { cause: 'complete' },
    rules: { stopWhenComplete: true, steps: 'gate', checks: 2 },
  });
});

test('a check that cannot run does not pass: no step is marked, and no completion is reported', async () => {
  await call('strict-2', 'PostToolUse.TaskCreate');
  await write('state', 'lost');
  expect(await call('strict-2', 'TaskCompleted')).toEqual([
    200,
    {
      decision: 'block',
      reason: expect.stringMatching(/^The step is not marked as done, since .*exit 127: not found/),
    },
  ]);
  await call('strict-2', 'PostToolUse.TaskUpdate.completed');
  expect(await call('strict-2', 'PostToolBatch')).toEqual([204, null]);
  expect(await call('strict-2', 'Stop')).toEqual([
    200,
    { systemMessage: expect.stringMatching(/^stopgate: this stop was not judged \(cause unjudged\): .*exit 127/) },
  ]);
  const { body } = await at.client.ask('get.worker.strict-2');
  expect(body as unknown as WorkerView).toMatchObject({ state: 'idle', lastDecision: { cause: 'unjudged' } });
});

test('checks run only for a stop, unless the policy enables more', async () => {
  for (const name of ['PostToolUse.TaskCreate', 'TaskCompleted', 'PostToolBatch'])
    expect(await call('free', name)).toEqual([204, null]);
  expect(await runs()).toBe(0);
  expect(await call('free', 'Stop')).toMatchObject([200, { hookSpecificOutput: { hookEventName: 'Stop' } }]);
  expect(await runs()).toBe(1);
});
