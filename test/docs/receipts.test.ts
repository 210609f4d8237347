/** docs/receipts.md as its readers use it: keys of openssl, and the required status, with a stand-in for GitHub's API. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../src/config/environment.ts';
import { runBash } from '../support/bash.ts';
import { runCommand } from '../support/command.ts';
import { deploy } from '../support/deployment.ts';
import { readPage, root } from '../support/markdown.ts';

const { PATH = '' } = readEnvironment();
const policies = { default: { checks: [{ git: { clean: true } }, { command: 'tests' }] } };
const stopgate = `${process.execPath} ${join(root, 'dist/src/main.js')}`;

/** A repository beside a service, whose worker w1 was judged complete, and keys as the page makes them. */
async function open() {
  const at = await deploy({ config: JSON.stringify({ policies, commands: { tests: { run: ['true'] } } }) });
  onTestFinished(at.close);
  const type = async (line: string) => {
    const env = { PATH, HOME: at.folder.path, GIT_CONFIG_NOSYSTEM: '1' };
    const { code, printed } = await runBash(line, { cwd: at.folder.path, env });
    if (code !== 0) throw new Error(`$ ${line}\nended with ${code}, having printed:\n${printed}`);
    return printed.trim();
  };
  const [keys] = readPage('docs/receipts.md').fences.filter(({ text }) => text.includes('openssl genpkey'));
  for (const line of (keys?.text ?? '').split('\n')) await type(line);
  await type('openssl genpkey -algorithm ed25519 -out other.pem');
  const git = 'git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main';
  const cwd = join(at.folder.path, 'work');
  await type(`mkdir work && cd work && ${git} init -q && echo a > a.txt && git add . && ${git} commit -qm first`);
  await at.client.publish('worker.w1.worker.registered', { cwd });
  expect((await at.client.ask('decide.w1', {})).body).toMatchObject({ cause: 'complete' });
  const attest = async (...args: string[]) => {
    const ended = await runCommand(['attest', '--nats', at.server.url, ...args], { cwd: at.folder.path });
    return ended.stdout;
  };
  const named = async (what: string) => type(`git -C work rev-parse '${what}'`);
  return { at, type, attest, commit: await named('HEAD'), tree: await named('HEAD^{tree}') };
}

/** Answers as GitHub does about one commit and its comments, and takes statuses. */
async function serveGitHub(commit: string, tree: string, comments: readonly string[]) {
  const statuses: { state: string; context: string; description: string }[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    const isAllowed = request.headers.authorization === 'Bearer secret';
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const page = Number(url.searchParams.get('page') ?? 1);
    if (!isAllowed) answer(401, { message: 'Bad credentials' });
    else if (url.pathname === `/repos/o/r/git/commits/${commit}`) answer(200, { sha: commit, tree: { sha: tree } });
    else if (url.pathname === `/repos/o/r/commits/${commit}/comments`)
      answer(
        200,
        comments.slice((page - 1) * 100, page * 100).map((body) => ({ body })),
      );
    else if (url.pathname === `/repos/o/r/statuses/${commit}` && request.method === 'POST') {
      let text = '';
      for await (const chunk of request) text += chunk;
      statuses.push(JSON.parse(text));
      answer(201, {});
    } else answer(404, { message: 'Not Found' });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, statuses };
}

test('a pull request can require a receipt', async () => {
  const { type, attest, commit, tree } = await open();
  const receipt = await attest('--worker', 'w1', '--key', 'key.pem', '--json');
  const forged = await attest('--worker', 'w1', '--key', 'other.pem', '--json');
  const script = join(root, 'docs/examples/receipts/require-receipt.mjs');
  const statusFor = async (comments: readonly string[], { at = tree, policy = '' } = {}) => {
    const { url, statuses } = await serveGitHub(commit, at, comments);
    await type(
      `GITHUB_API_URL=${url} GITHUB_REPOSITORY=o/r GITHUB_TOKEN=secret COMMIT=${commit} STOPGATE='${stopgate}' ` +
        `STOPGATE_POLICY_SHA256=${policy} STOPGATE_PUBLIC_KEY="$(cat key.pub)" ${process.execPath} ${script}`,
    );
    expect(statuses).toHaveLength(1);
    const [{ state = '', context = '', description = '' } = {}] = statuses;
    expect(context).toBe('stopgate/receipt');
    return `${state}: ${description}`;
  };
  const chatter = Array.from({ length: 120 }, () => 'looks good to me');
  expect(await statusFor([...chatter, receipt])).toBe('success: judged complete');
  expect(await statusFor([receipt, forged])).toBe('success: judged complete');
  expect(await statusFor(chatter)).toBe('failure: no comment on the commit has a receipt');
  expect(await statusFor([forged])).toBe('failure: no signature in it is by this key');
  expect(await statusFor([`${receipt.trim()} "payloadType"`])).toBe('failure: it is not a DSSE envelope');
  expect(await statusFor([receipt], { at: 'f'.repeat(40) })).toBe('failure: it is about another tree');
  expect(await statusFor([receipt], { policy: '0'.repeat(64) })).toBe(
    'failure: it was judged by another policy (default)',
  );
});
