/** Tests the policies of docs/recipes.md, unchanged, in a service with real git, commands and budgets. */
import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import { openStage, type Stage } from '../../src/demo/stage.ts';
import { readPage } from '../support/markdown.ts';

const { steps } = readPage('docs/recipes.md');

/** Starts a service with the `stopgate.yaml` of the page that contains this line. */
async function openRecipe(line: string) {
  const found = steps.flatMap((it) => ('lang' in it && it.lang === 'yaml' && it.text.includes(line) ? [it.text] : []));
  expect(found, `docs/recipes.md has one recipe with ${line}`).toHaveLength(1);
  const stage = await openStage({ config: found[0] as string });
  onTestFinished(() => stage.close());
  return stage;
}

const decide = async ({ agents }: Stage, worker: string) =>
  (await agents.request('decide', worker, {}, 30_000)) as Decision;

/** Starts a worker in a project whose `npm test` and `npm run lint` run the files `test.mjs` and `lint.mjs`. */
async function startWorker({ agents, folder }: Stage, files: Readonly<Record<string, string>>) {
  const project = join(folder, 'project');
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(project, file)), { recursive: true });
    await writeFile(join(project, file), text);
  };
  await write('package.json', JSON.stringify({ scripts: { test: 'node test.mjs', lint: 'node lint.mjs' } }));
  for (const [file, text] of Object.entries(files)) await write(file, text);
  await agents.publish('worker.w1.worker.registered', { cwd: project });
  return { project, write };
}

test('changed, committed and new tests block; other changes do not', async () => {
  const stage = await openRecipe('tests-untouched');
  const { project, write } = await startWorker(stage, {
    'sum.mjs': 'export const sum = (a, b) => a - b;',
    'tests/sum.mjs': 'export const expected = 3;',
    'test.mjs': `import { sum } from './sum.mjs';
import { expected } from './tests/sum.mjs';
process.exitCode = sum(1, 2) === expected ? 0 : 1;`,
  });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: project,
      stdio: 'ignore',
    });
  git('init', '--initial-branch=main');
  git('add', '.');
  git('commit', '-m', 'Begin');
  git('checkout', '--track', '-b', 'work', 'main');

  await write('tests/sum.mjs', 'export const expected = -1;');
  const edited = { decision: 'block', reason: 'Changed files that must stay: tests/sum.mjs' };
  expect(await decide(stage, 'w1')).toMatchObject(edited);
  git('commit', '-a', '-m', 'Make it pass');
  expect(await decide(stage, 'w1'), 'a commit hides nothing').toMatchObject(edited);
  git('reset', '--hard', 'main');
  await write('tests/new.mjs', '');
  expect(await decide(stage, 'w1')).toMatchObject({ reason: 'Changed files that must stay: tests/new.mjs' });
  await rm(join(project, 'tests/new.mjs'));
  expect(await decide(stage, 'w1')).toMatchObject({
    reason: 'Retry limit reached (3 of 3): Command tests failed (exit 1)',
  });
  await write('sum.mjs', 'export const sum = (a, b) => a + b;');
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'allow', cause: 'complete' });
});

test('a lint warning is reported and does not block; a failing test blocks', async () => {
  const stage = await openRecipe('failures: all  ');
  const { write } = await startWorker(stage, {
    'test.mjs': 'process.exitCode = 1;',
    'lint.mjs': 'process.exitCode = 1;',
  });
  const warned = { check: 'lint', outcome: 'warn' };
  expect(await decide(stage, 'w1')).toMatchObject({
    decision: 'block',
    reason: 'Command tests failed (exit 1)',
    feedback: [{ check: 'tests', outcome: 'fail' }, warned],
  });
  await write('test.mjs', '');
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'allow', cause: 'complete', feedback: [warned] });
  await write('lint.mjs', '');
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'allow', cause: 'complete', feedback: [] });
});

test('a used-up task budget is escalated and can be granted again; the daily budget stops all workers', async () => {
  const stage = await openRecipe('per: task }');
  const { agents, operator } = stage;
  await startWorker(stage, { 'test.mjs': 'process.exitCode = 1;' });
  await agents.publish('worker.w1.task.claimed', { task: 'T-1' });
  await agents.publish('worker.w1.usage.reported', { usd: 9.99 });
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'block', reason: 'Command tests failed (exit 1)' });
  await agents.publish('worker.w1.usage.reported', { usd: 0.01 });
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'allow', action: 'escalate', cause: 'budget' });
  await operator.publish('own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' });
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'block' });

  await agents.publish('worker.w2.usage.reported', { usd: 190 });
  await agents.publish('worker.w3.heartbeat.sent', {});
  const { verdicts } = await decide(stage, 'w3');
  expect(verdicts.at(-1)).toMatchObject({ guard: 'bypass', detail: expect.stringMatching(/usd 200 of 200/) });
});

test('in plan mode, a stop is judged only if work was done', async () => {
  const stage = await openRecipe('policy: planning');
  await startWorker(stage, { 'test.mjs': 'process.exit(1);' });
  const { agents } = stage;
  await agents.publish('worker.w1.heartbeat.sent', { mode: 'plan' });
  expect(await decide(stage, 'w1')).toMatchObject({
    decision: 'allow',
    cause: 'complete',
    policy: { name: 'planning' },
  });
  await agents.publish('worker.w1.tool.used', { tool: 'Bash', command: 'npm i', changes: 'unknown' });
  expect(await decide(stage, 'w1')).toMatchObject({
    decision: 'block',
    cause: 'incomplete',
    policy: { name: 'planning' },
  });
  await agents.publish('worker.w1.heartbeat.sent', { mode: 'default' });
  expect(await decide(stage, 'w1')).toMatchObject({ decision: 'block', policy: { name: 'default' } });
});
