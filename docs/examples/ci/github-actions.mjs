/**
 * Serves the check `remote: github-actions`: every workflow of the worker's commit has passed in GitHub Actions. It is
 * asked again while they run. GITHUB_REPOSITORY is `owner/name`; GITHUB_TOKEN may read its actions.
 */
import { connect } from 'stopgate/client';
import { currentCommit, getJson, pending, readVariables } from './pipeline.mjs';

const { GITHUB_REPOSITORY, GITHUB_TOKEN } = readVariables('GITHUB_REPOSITORY', 'GITHUB_TOKEN');
const { GITHUB_API_URL = 'https://api.github.com' } = process.env;
const headers = {
  accept: 'application/vnd.github+json',
  authorization: `Bearer ${GITHUB_TOKEN}`,
  'x-github-api-version': '2022-11-28',
};
const passed = ['success', 'neutral', 'skipped'];

async function check({ cwd }) {
  const commit = await currentCommit(cwd);
  const answer = await getJson(
    `${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/actions/runs?head_sha=${commit}&per_page=100`,
    headers,
  );
  if ('pending' in answer) return answer;
  // The newest come first: of a workflow that ran again, only its last run counts.
  const last = new Map();
  for (const run of answer.json.workflow_runs) if (!last.has(run.workflow_id)) last.set(run.workflow_id, run);
  const runs = [...last.values()];
  if (runs.length === 0) return pending(`no workflow has started for ${commit.slice(0, 7)} yet`);
  const failed = runs.filter((run) => run.status === 'completed' && !passed.includes(run.conclusion));
  if (failed.length > 0) {
    const reason = failed.map((run) => `${run.name}: ${run.conclusion} (${run.html_url})`).join('; ');
    return { complete: false, reason };
  }
  const open = runs.filter((run) => run.status !== 'completed');
  if (open.length > 0) return pending(open.map((run) => `${run.name} is ${run.status}`).join('; '));
  return { complete: true, reason: `${runs.length} of ${runs.length} workflows passed` };
}

const client = await connect();
await client.serveCheck('github-actions', check);
console.log('serves github-actions');
process.once('SIGTERM', () => client.close());
