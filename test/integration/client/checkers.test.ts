/** Checkers of seed 002 as checks of a policy: the seed's composite, on real files. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CompositeChecker,
  FileExistsChecker,
  PlanBasedChecker,
  type TaskCompletionChecker,
  type TaskCompletionContext,
  TaskCompletionResult,
} from '../../../src/client/index.ts';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-client-')));
  scene = await openScene({ done: { retries: null, checks: [{ remote: 'done', onError: 'block' }] } });
});
afterAll(async () => {
  await scene.close();
  await rm(folder, { recursive: true });
});

const checkers = [new PlanBasedChecker(), new FileExistsChecker(['output.txt'])];
const planWords = '1 of 1 plan steps remain: Write tests';
const filesWords = 'Missing required files: output.txt';

async function startWorker(id: string, cwd: string | null) {
  const worker = scene.client.worker(id);
  await worker.publish('worker.registered', { policy: 'done', ...(cwd === null ? {} : { cwd }) });
  return worker;
}

test('all must pass: plan and file, one after the other', async () => {
  const served = await scene.client.serveCheck('done', new CompositeChecker({ checkers, allMustPass: true }), {
    roots: [folder],
  });
  const worker = await startWorker('w1', folder);
  await worker.publish('plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  expect(await worker.decide()).toMatchObject({ decision: 'block', reason: planWords });
  await worker.publish('plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
  expect(await worker.decide()).toMatchObject({ decision: 'block', reason: filesWords });
  await expect(worker.assertComplete()).rejects.toMatchObject({ name: 'IncompleteError', message: filesWords });
  await writeFile(join(folder, 'output.txt'), '');
  expect(await worker.decide()).toMatchObject({ decision: 'allow', cause: 'complete' });
  await rm(join(folder, 'output.txt'));
  await served.close();
});

test('any can pass', async () => {
  const served = await scene.client.serveCheck('done', new CompositeChecker({ checkers, allMustPass: false }), {
    roots: [folder],
  });
  const worker = await startWorker('w2', folder);
  await worker.publish('plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  expect(await worker.decide()).toMatchObject({ decision: 'block', reason: `${planWords}; or ${filesWords}` });
  await writeFile(join(folder, 'output.txt'), '');
  expect(await worker.decide()).toMatchObject({ decision: 'allow', cause: 'complete' });
  await served.close();
});

test.each([
  ['a folder outside the roots', () => tmpdir(), 'is outside the runner'],
  ['a worker without a folder', () => null, 'the worker has no folder'],
])('%s is an error of the check, never a pass', async (_what, cwdOf, message) => {
  const served = await scene.client.serveCheck('done', new FileExistsChecker(['output.txt']), { roots: [folder] });
  const worker = await startWorker(`f${message.length}`, cwdOf());
  expect(await worker.decide()).toMatchObject({ decision: 'block', reason: expect.stringContaining(message) });
  await served.close();
});

test('a custom checker gets what the agent is about to deliver', async () => {
  const seen: TaskCompletionContext[] = [];
  class DraftChecker implements TaskCompletionChecker {
    check(context: TaskCompletionContext) {
      seen.push(context);
      return TaskCompletionResult.incomplete('Too short');
    }
  }
  const served = await scene.client.serveCheck('done', new DraftChecker());
  const worker = await startWorker('w3', folder);
  const decision = await worker.decide({ stopReason: 'max_turns', output: 'here', draft: { content: 'a draft' } });
  expect(decision.reason).toBe('Too short');
  await worker.decide({ output: 'here' });
  await worker.decide();
  expect(seen.map((it) => it.tentativeOutput)).toEqual(['a draft', 'here', null]);
  expect(seen.map((it) => it.stopReason)).toEqual(['max_turns', 'end_turn', 'end_turn']);
  await served.close();
});
