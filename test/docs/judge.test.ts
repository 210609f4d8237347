/** Runs the judges of docs/judge.md against an API with a scripted model on loopback. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { deploy } from '../support/deployment.ts';
import { root } from '../support/markdown.ts';
import { scriptModel } from '../support/scripted-model.ts';

test('a model behind an API judges, and a missing judgement is not a pass', async () => {
  const model = await scriptModel([
    '{ "complete": false, "reason": "The tests were not run." }',
    '{ "complete": true, "reason": "Every step is done." }',
    'It looks good to me!',
  ]);
  const judge = {
    run: [process.execPath, 'judge.mjs'],
    cwd: '.',
    speaks: 'json',
    diff: true,
    env: { JUDGE_URL: model.url, JUDGE_KEY: 'key', JUDGE_MODEL: 'small', JUDGE_ASKS: 'The tests were run.' },
  };
  const policies = { default: { retries: null, checks: [{ command: 'judge', timeout: '60s', onError: 'block' }] } };
  const at = await deploy({ config: JSON.stringify({ policies, commands: { judge } }) });
  onTestFinished(at.close);
  await cp(join(root, 'docs/examples/judge.mjs'), join(at.folder.path, 'judge.mjs'));

  await at.client.publish('worker.w1.plan.updated', { steps: [{ title: 'Run the tests', status: 'done' }] });
  const stop = async (attempt: string) =>
    (await at.client.ask('decide.w1', { attempt, output: 'All done, trust me.' })).body;
  expect(await stop('a1')).toMatchObject({
    decision: 'block',
    cause: 'incomplete',
    reason: 'The tests were not run.',
    nextPrompt: expect.stringContaining('The tests were not run.'),
  });
  expect(await stop('a2')).toMatchObject({ decision: 'allow', cause: 'complete' });
  expect(await stop('a3')).toMatchObject({ decision: 'block', feedback: [{ check: 'judge', outcome: 'error' }] });
  expect(await stop('a4')).toMatchObject({
    decision: 'block',
    feedback: [{ outcome: 'error', details: expect.stringContaining('status 500') }],
  });

  // The third answer was none, and cost tokens all the same.
  expect((await at.client.ask('get.worker.w1')).body).toMatchObject({ usage: { session: { tokens: 6 } } });

  const [system, user] = model.asked[0]?.messages ?? [];
  expect(system).toMatchObject({ role: 'system', content: expect.stringContaining('The tests were run.') });
  expect(user).toMatchObject({ role: 'user', content: expect.stringContaining('Run the tests') });
  expect(user?.content).toContain('All done, trust me.');
  const mark = /<plan (\w{24})>/.exec(user?.content ?? '')?.[1] ?? '';
  expect(system?.content).toContain(mark);
  expect(model.asked[1]?.messages[1]?.content).not.toContain(mark);
});
