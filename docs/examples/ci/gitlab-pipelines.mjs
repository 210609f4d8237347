/**
 * Serves the check `remote: gitlab-pipelines`: the last pipeline of the worker's commit has passed in GitLab. It is asked
 * again while that runs. GITLAB_PROJECT is the project's path or number; GITLAB_TOKEN may read its API.
 */
import { connect } from 'stopgate/client';
import { currentCommit, getJson, pending, readVariables } from './pipeline.mjs';

const { GITLAB_PROJECT, GITLAB_TOKEN } = readVariables('GITLAB_PROJECT', 'GITLAB_TOKEN');
const { GITLAB_API_URL = 'https://gitlab.com/api/v4' } = process.env;
const project = encodeURIComponent(GITLAB_PROJECT);
const headers = { 'private-token': GITLAB_TOKEN };
/** Those that end by themselves. A `manual` one waits for a person, and fails. */
const open = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'canceling'];

async function check({ cwd }) {
  const commit = await currentCommit(cwd);
  const query = `sha=${commit}&order_by=id&sort=desc&per_page=1`;
  const answer = await getJson(`${GITLAB_API_URL}/projects/${project}/pipelines?${query}`, headers);
  if ('pending' in answer) return answer;
  const [pipeline] = answer.json;
  if (pipeline === undefined) return pending(`no pipeline has started for ${commit.slice(0, 7)} yet`);
  const reason = `pipeline ${pipeline.id} is ${pipeline.status} (${pipeline.web_url})`;
  return open.includes(pipeline.status) ? pending(reason) : { complete: pipeline.status === 'success', reason };
}

const client = await connect();
await client.serveCheck('gitlab-pipelines', check);
console.log('serves gitlab-pipelines');
process.once('SIGTERM', () => client.close());
