/**
 * Real headless agents, which take one prompt and exit, with a scripted model and a real stopgate. Model turns are
 * counted: a block costs one.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Deployment } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { resumeAgent } from './support/connect.ts';
import { deployForAgents } from './support/deploy.ts';
import { headlessAgents, makeHeadlessHome } from './support/headless.ts';
import { installAgent } from './support/install.ts';
import { scriptModel, type Turn } from './support/scripted-model.ts';
import { blockText, causesOf, done, planPolicy, workersIn } from './support/workers.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deployForAgents({ config: planPolicy });
});
afterAll(() => at.close());

describe.each(headlessAgents)('$agent', (row) => {
  const { agent, open, close, resumeEnv } = row;
  let program: string;
  beforeAll(async () => {
    program = await installAgent(row.program);
  });

  const makeHome = (init?: readonly string[], http = at.http) => makeHeadlessHome(row, { program, http, init });
  const makeModel = (turns: readonly Turn[]) => scriptModel(row.api, turns);

  describe.each(row.forms)('with hooks of the form $form', ({ form, init }) => {
    test('a remaining step blocks its stop, and the model reads which; it may stop when all are done', async () => {
      const home = await makeHome(init);
      const model = await makeModel([open, done, close, { text: 'Now I am.' }]);
      const ended = await row.run(program, home, model.url);
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Now I am.') });
      expect(model.requests).toHaveLength(4);
      expect(model.requests[2]?.input).toContain(blockText);
      const [worker, ...others] = await workersIn(at, home);
      expect(worker).toMatchObject({ agent, state: 'stopped', plan: [{ status: row.doneStatus }] });
      expect(others).toEqual([]);
      expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
    });

    test(`if the service is killed, it may stop and ${row.unjudged.shows}`, async () => {
      const own = await deployForAgents({ config: planPolicy, start: serveShipped });
      onTestFinished(() => own.close());
      const home = await makeHome(init, own.http);
      const model = await makeModel([open, done, { ...done, before: () => own.service.kill('SIGKILL') }]);
      const ended = await row.run(program, home, model.url);
      expect(ended.code).toBe(0);
      expect(model.requests).toHaveLength(3);
      row.unjudged.expect(ended, form);
    });
  });

  test.each(row.stalled)('a session that $how may stop after three blocks', async ({ turns }) => {
    const home = await makeHome();
    const model = await makeModel(turns);
    expect(await row.run(program, home, model.url)).toMatchObject({ code: 0 });
    expect(model.requests).toHaveLength(turns.length);
    const [worker] = await workersIn(at, home);
    const blocked = 'incomplete';
    expect(await causesOf(at, worker?.worker ?? '')).toEqual([blocked, blocked, blocked, 'capped']);
  });

  test('two parallel sessions in one folder are two workers, each judged by its own plan', async () => {
    const home = await makeHome();
    const [first, second] = [await makeModel([open, done, close, done]), await makeModel(row.nothingOpen)];
    const ended = await Promise.all([first, second].map(({ url }) => row.run(program, home, url)));
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    expect([first, second].map((model) => model.requests.length)).toEqual([4, row.nothingOpen.length]);
    const causes = await Promise.all((await workersIn(at, home)).map(({ worker }) => causesOf(at, worker)));
    expect(causes.sort((a, b) => a.length - b.length)).toEqual([['complete'], ['incomplete', 'complete']]);
  });

  if (resumeEnv === null) return;
  test('the printed command resumes the session as the same worker', async () => {
    const home = await makeHome();
    const model = await makeModel([done, done]);
    await row.run(program, home, model.url);
    const [worker] = await workersIn(at, home);
    const ended = await resumeAgent(program, worker, 'Use the other key', { at: home, env: resumeEnv(model.url) });
    expect(ended).toMatchObject({ code: 0 });
    expect(model.requests.at(-1)?.input).toContain('Use the other key');
    expect(model.requests).toHaveLength(2);
    expect((await workersIn(at, home)).map((it) => it.worker)).toEqual([worker?.worker]);
    expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete', 'complete']);
  });
});
