/**
 * Sets the commit status `stopgate/receipt` of COMMIT: success if a comment on it has a receipt that STOPGATE_PUBLIC_KEY
 * verifies and that is about the commit's tree. Ends with exit code 0 once the status is set, whatever it is.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const {
  GITHUB_API_URL = 'https://api.github.com',
  STOPGATE = 'npx stopgate',
  STOPGATE_POLICY_SHA256 = '',
} = process.env;
const { GITHUB_REPOSITORY, GITHUB_TOKEN, COMMIT, STOPGATE_PUBLIC_KEY } = process.env;
for (const [name, value] of Object.entries({ GITHUB_REPOSITORY, GITHUB_TOKEN, COMMIT, STOPGATE_PUBLIC_KEY }))
  if (!value) throw new Error(`set ${name}`);

/** A page has 100 comments. Whoever posts more than this many pages of them hides the receipt, which fails the status. */
const pagesMax = 10;

async function call(path, body) {
  const response = await fetch(`${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${GITHUB_TOKEN}`,
      'x-github-api-version': '2022-11-28',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`GitHub answered ${response.status} to ${path}: ${await response.text()}`);
  return response.json();
}

/** Returns why a comment is no receipt of this tree, or null. */
function findFault(comment, tree, folder) {
  const [file, key] = [join(folder, 'receipt.json'), join(folder, 'key.pub')];
  writeFileSync(file, comment);
  writeFileSync(key, STOPGATE_PUBLIC_KEY);
  const [program, ...first] = STOPGATE.split(' ');
  const { stdout } = spawnSync(program, [...first, 'attest', '--verify', file, '--key', key, '--json'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  const { problem, statement } = JSON.parse(stdout);
  if (problem !== null) return problem;
  if (statement.subject[1].digest.gitTree !== tree) return 'it is about another tree';
  const { policy } = statement.predicate;
  const isExpected = STOPGATE_POLICY_SHA256 === '' || policy.digest.sha256 === STOPGATE_POLICY_SHA256;
  return isExpected ? null : `it was judged by another policy (${policy.name})`;
}

/** The newest comment counts most, so that its fault is the one that is shown. */
async function judge() {
  const { tree } = await call(`git/commits/${COMMIT}`);
  const comments = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const found = await call(`commits/${COMMIT}/comments?per_page=100&page=${page}`);
    comments.push(...found.map(({ body }) => body));
    if (found.length < 100) break;
  }
  const receipts = comments.filter((body) => body.includes('"payloadType"')).reverse();
  if (receipts.length === 0) return 'no comment on the commit has a receipt';
  const folder = mkdtempSync(join(tmpdir(), 'receipt-'));
  try {
    const faults = receipts.map((body) => findFault(body, tree.sha, folder));
    return faults.includes(null) ? null : faults[0];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const fault = await judge();
const description = fault === null ? 'judged complete' : fault.slice(0, 140);
await call(`statuses/${COMMIT}`, {
  state: fault === null ? 'success' : 'failure',
  context: 'stopgate/receipt',
  description,
});
console.log(`stopgate/receipt: ${description}`);
