/** What both checks need: variables, the commit of a folder, and answers of an API that may ask for patience. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Returns the environment. Exits with code 2 unless all variables in `names` are set. */
export function readVariables(...names) {
  const missing = names.filter((name) => !process.env[name]);
  if (missing.length === 0) return process.env;
  console.error(`set ${missing.join(' and ')}`);
  process.exit(2);
}

/** Nobody can tell yet: the service asks again. ASK_AGAIN_SECONDS: how soon; default: 15. */
export const pending = (reason, seconds = Number(process.env.ASK_AGAIN_SECONDS ?? 15)) => ({
  pending: true,
  reason,
  retryAfterMs: 1_000 * seconds,
});

/** The folder is the agent's: nothing is run there but git, which reads where HEAD is. */
export async function currentCommit(cwd) {
  if (cwd === null) throw new Error('the worker has no folder: its registration names no cwd');
  const git = ['-c', 'core.fsmonitor=false', 'rev-parse', '--verify', 'HEAD^{commit}'];
  const { stdout } = await promisify(execFile)('git', git, { cwd, timeout: 10_000 });
  return stdout.trim();
}

/** A pending result while the API asks for patience. Any other failure is thrown: it is an error of the check, no verdict. */
export async function getJson(url, headers) {
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(20_000) });
  if (response.ok) return { json: await response.json() };
  const numberOf = (name) => Number(response.headers.get(name) ?? Number.NaN);
  const seconds = numberOf('retry-after');
  // GitHub's limit for an hour has no retry-after: it says when the hour ends, in seconds since 1970.
  const isUsedUp = numberOf('x-ratelimit-remaining') === 0;
  const isLimited = response.status === 429 || (response.status === 403 && (seconds > 0 || isUsedUp));
  if (!isLimited) throw new Error(`${new URL(url).host} answered with status ${response.status}`);
  const untilReset = Math.ceil(numberOf('x-ratelimit-reset') - Date.now() / 1_000);
  const wait = seconds > 0 ? seconds : isUsedUp && !Number.isNaN(untilReset) ? Math.max(untilReset, 1) : 60;
  // The service asks again after 10 minutes at the latest.
  return pending(`${new URL(url).host} accepts no more requests for a while`, Math.min(wait, 600));
}
