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

/** GitHub lists at most 1,000 runs of a commit. */
const pagesMax = 10;

async function check({ cwd }) {
  const commit = await currentCommit(cwd);
  const answer = await listRuns(commit);
  if ('pending' in answer) return answer;
  const runs = newestRuns(answer.runs);
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

/** All runs of a commit, or a pending result. The pages are counted: a link in an answer might lead elsewhere with the token. */
async function listRuns(commit) {
  const runs = [];
  const url = `${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/actions/runs?head_sha=${commit}&per_page=100`;
  for (let page = 1; page <= pagesMax; page += 1) {
    const answer = await getJson(page === 1 ? url : `${url}&page=${page}`, headers);
    if ('pending' in answer) return answer;
    const { total_count: total, workflow_runs: found } = answer.json;
    if (!Array.isArray(found)) throw new Error(`${new URL(url).host} answered without a list of runs`);
    runs.push(...found);
    if (found.length === 0 || runs.length >= total) return { runs };
  }
  throw new Error(`${commit.slice(0, 7)} has more than ${runs.length} runs, which GitHub does not list`);
}

/**
 * The run of each workflow and event that started last. A push and a pull request of one commit are judged both. A run that is
 * started again keeps its number and its place in the list, and starts at another time.
 */
function newestRuns(runs) {
  const newest = new Map();
  for (const run of runs) {
    const key = JSON.stringify([run.workflow_id, run.event]);
    const other = newest.get(key);
    if (other === undefined || isNewer(run, other)) newest.set(key, run);
  }
  return [...newest.values()];
}

const startOf = ({ run_started_at: started, created_at: created }) => Date.parse(started ?? created) || 0;
const isNewer = (one, other) =>
  startOf(one) - startOf(other) > 0 || (startOf(one) === startOf(other) && one.id > other.id);

const client = await connect();
await client.serveCheck('github-actions', check);
console.log('serves github-actions');
process.once('SIGTERM', () => client.close());
