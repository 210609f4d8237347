/** Tests the checks of docs/ci.md for GitHub Actions and GitLab pipelines against fake servers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../src/config/environment.ts';
import { runBash } from '../support/bash.ts';
import { type Deployment, deploy } from '../support/deployment.ts';
import { root } from '../support/markdown.ts';

const { PATH = '' } = readEnvironment();

type Answer = { status?: number; headers?: Record<string, string>; body: unknown };
/** Answers the nth request with the nth answer, and later requests with the last. */
async function serveApi(answers: readonly Answer[]) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    const { status = 200, headers = {}, body } = answers[Math.min(asked.length, answers.length - 1)] as Answer;
    asked.push(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function start(name: string, env: Record<string, string>): Promise<{ at: Deployment; commit: string }> {
  const checks = [{ remote: name, timeout: '20s', onError: 'block' }];
  const at = await deploy({ config: JSON.stringify({ policies: { default: { retries: null, checks } } }) });
  onTestFinished(() => at.close());
  const git = 'git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main';
  const line = `git init -q && ${git} commit -q --allow-empty -m first && git rev-parse HEAD`;
  const { printed } = await runBash(line, { cwd: at.folder.path, env: { PATH } });
  const child = spawn(process.execPath, [join(root, `docs/examples/ci/${name}.mjs`)], {
    env: { PATH, STOPGATE_NATS: at.server.url, ASK_AGAIN_SECONDS: '1', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
  expect(await once(createInterface(child.stdout), 'line')).toEqual([`serves ${name}`]);
  await at.client.publish('worker.w1.worker.registered', { cwd: at.folder.path });
  return { at, commit: printed.trim() };
}
const stop = async ({ client }: Deployment) => (await client.ask('decide.w1', {}, 30_000)).body;

const run = (id: number, workflow: number, status: string, conclusion: string | null) => ({
  id,
  name: `CI ${workflow}`,
  workflow_id: workflow,
  head_branch: 'main',
  run_attempt: 1,
  status,
  conclusion,
  html_url: `https://github.com/owner/name/actions/runs/${id}`,
});
const runs = (...all: object[]): Answer => ({ body: { total_count: all.length, workflow_runs: all } });

test('GitHub: waits for the last run of each workflow, and names those that fail', async () => {
  const inASecond = String(Math.floor(Date.now() / 1_000) + 1);
  const api = await serveApi([
    runs(),
    runs(run(3, 1, 'in_progress', null), run(2, 2, 'completed', 'skipped'), run(1, 1, 'completed', 'failure')),
    { status: 403, headers: { 'retry-after': '1' }, body: { message: 'You have exceeded a secondary rate limit' } },
    { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inASecond }, body: {} },
    runs(run(3, 1, 'completed', 'success'), run(2, 2, 'completed', 'skipped'), run(1, 1, 'completed', 'failure')),
    runs(run(4, 1, 'completed', 'failure'), run(5, 2, 'queued', null)),
    { status: 401, body: { message: 'Bad credentials' } },
  ]);
  const env = { GITHUB_REPOSITORY: 'owner/name', GITHUB_TOKEN: 'secret', GITHUB_API_URL: api.url };
  const { at, commit } = await start('github-actions', env);
  expect(await stop(at)).toMatchObject({ cause: 'complete' });
  expect(await stop(at)).toMatchObject({
    cause: 'incomplete',
    reason: 'CI 1: failure (https://github.com/owner/name/actions/runs/4)',
  });
  expect(await stop(at)).toMatchObject({ feedback: [{ outcome: 'error', message: expect.stringContaining('401') }] });
  expect(api.asked).toHaveLength(7);
  for (const { url, headers } of api.asked) {
    expect(url).toBe(`/repos/owner/name/actions/runs?head_sha=${commit}&per_page=100`);
    expect(headers).toMatchObject({ authorization: 'Bearer secret', accept: 'application/vnd.github+json' });
  }
});

test('GitHub: the last started run of a workflow and event counts, on any page', async () => {
  const started = (id: number, event: string, minute: number, conclusion: string | null) => ({
    ...run(id, 1, conclusion === null ? 'in_progress' : 'completed', conclusion),
    event,
    created_at: `2026-03-01T10:0${id}:00Z`,
    run_started_at: `2026-03-01T11:0${minute}:00Z`,
  });
  const page = (...found: object[]): Answer => ({ body: { total_count: 3, workflow_runs: found } });
  const api = await serveApi([
    // The older run was restarted and has failed. The run of the pull request does not count for the push.
    page(started(3, 'push', 1, 'success')),
    page(started(2, 'pull_request', 2, 'success')),
    page(started(1, 'push', 5, 'failure')),
    page(started(3, 'push', 6, 'success')),
    page(started(2, 'pull_request', 2, 'failure')),
    page(started(1, 'push', 5, 'failure')),
    { status: 403, headers: { 'x-ratelimit-remaining': '17' }, body: { message: 'Resource not accessible' } },
  ]);
  const { at, commit } = await start('github-actions', {
    GITHUB_REPOSITORY: 'owner/name',
    GITHUB_TOKEN: 'secret',
    GITHUB_API_URL: api.url,
  });
  const failed = (id: number) => `CI 1: failure (https://github.com/owner/name/actions/runs/${id})`;
  expect(await stop(at)).toMatchObject({ cause: 'incomplete', reason: failed(1) });
  expect(await stop(at)).toMatchObject({ cause: 'incomplete', reason: failed(2) });
  expect(await stop(at)).toMatchObject({ feedback: [{ outcome: 'error', message: expect.stringContaining('403') }] });
  const first = `/repos/owner/name/actions/runs?head_sha=${commit}&per_page=100`;
  expect(api.asked.map(({ url }) => url).slice(0, 3)).toEqual([first, `${first}&page=2`, `${first}&page=3`]);
});

test('GitLab: waits for the last pipeline, and reports its result', async () => {
  const pipeline = (status: string): Answer => ({
    body: [{ id: 7, project_id: 1, status, ref: 'main', web_url: 'https://gitlab.com/group/name/-/pipelines/7' }],
  });
  const api = await serveApi([{ body: [] }, pipeline('running'), pipeline('success'), pipeline('failed')]);
  const env = { GITLAB_PROJECT: 'group/name', GITLAB_TOKEN: 'secret', GITLAB_API_URL: `${api.url}/api/v4` };
  const { at, commit } = await start('gitlab-pipelines', env);
  expect(await stop(at)).toMatchObject({ cause: 'complete' });
  expect(await stop(at)).toMatchObject({
    cause: 'incomplete',
    reason: 'pipeline 7 is failed (https://gitlab.com/group/name/-/pipelines/7)',
  });
  const query = `sha=${commit}&order_by=id&sort=desc&per_page=1`;
  for (const { url, headers } of api.asked) {
    expect(url).toBe(`/api/v4/projects/group%2Fname/pipelines?${query}`);
    expect(headers).toMatchObject({ 'private-token': 'secret' });
  }
});

test.each(['github-actions', 'gitlab-pipelines'])('%s names missing variables', async (name) => {
  const { code, printed } = await runBash(`node ${join(root, `docs/examples/ci/${name}.mjs`)} 2>&1`, {
    cwd: root,
    env: { PATH },
  });
  expect([code, printed]).toEqual([2, expect.stringMatching(/^set GIT(HUB|LAB)_[A-Z]+ and GIT(HUB|LAB)_TOKEN\n$/)]);
});
