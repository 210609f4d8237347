/**
 * The `git` check: is everything in the worker's repository committed, and pushed? (protocol.md §8) It reads, and
 * writes nothing: no index refresh, no prompt, no hook of the repository.
 */
import { checkTimeoutMs, formatDuration } from '../../machines/index.ts';
import { findWorkerFolder, type WorkerPlace } from './folder.ts';
import type { Interruption } from './interruption.ts';
import { type Group, type GroupEnd, startGroup } from './process-group.ts';
import { cancelled, type Finding, quote, type RunRequest } from './request.ts';

export type GitRequest = Extract<RunRequest, { kind: 'git' }>;
export type GitPlace = WorkerPlace & {
  readonly env: Readonly<Record<string, string | undefined>>;
  onStart(group: Group): void;
};

export const gitTimeoutMs = checkTimeoutMs;
const namesMax = 3; // as many as a plan's titles
const outputBytesMax = 65_536; // three names are wanted; a repository with a million changes says no more than that

/** @param timeoutMs for the message; the clock is `stop`'s */
export async function checkGit(
  request: GitRequest,
  place: GitPlace,
  { stop, timeoutMs }: { readonly stop: Interruption; readonly timeoutMs: number },
): Promise<Finding> {
  const folder = await Promise.race([findWorkerFolder(request.cwd, place), stop.happened]);
  if (typeof folder === 'string') return interrupted(folder, timeoutMs);
  if ('reason' in folder) return { outcome: 'error', reason: folder.reason };
  const git = (...args: string[]) => runGit(args, folder.path, place, stop);
  const failures: string[] = [];
  if (request.clean) {
    const status = await git('status', '--porcelain=v1', '-z', '--untracked-files=normal');
    if (status.end.by === 'timeout' || status.end.by === 'cancelled') return interrupted(status.end.by, timeoutMs);
    if (!isSuccess(status.end)) return couldNotTell(status);
    const names = changedNames(status.stdout);
    if (names.length > 0) failures.push(uncommittedReason(names));
  }
  if (request.pushed) {
    const ahead = await git('rev-list', '--count', '@{upstream}..HEAD');
    if (ahead.end.by === 'timeout' || ahead.end.by === 'cancelled') return interrupted(ahead.end.by, timeoutMs);
    if (!isSuccess(ahead.end)) return couldNotTell(ahead);
    const count = Number(ahead.stdout.trim());
    if (count > 0) failures.push(`${count} ${count === 1 ? 'commit' : 'commits'} not pushed`);
  }
  return failures.length === 0 ? { outcome: 'pass' } : { outcome: 'fail', reason: failures.join('; ') };
}

type GitRun = { readonly end: GroupEnd; readonly stdout: string; readonly stderr: string };

async function runGit(args: string[], cwd: string, place: GitPlace, stop: Interruption): Promise<GitRun> {
  const output = { stdout: '', stderr: '' };
  const group = startGroup(
    {
      // A repository comes from an agent: it may not name programs for us to run.
      run: ['git', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', ...args],
      cwd,
      env: environmentOf(place.env),
      onOutput(stream, chunk) {
        if (output[stream].length < outputBytesMax) output[stream] += chunk.toString('utf8');
      },
    },
    stop,
  );
  place.onStart(group);
  return { end: await group.ended, ...output };
}

function environmentOf(ours: GitPlace['env']): Record<string, string> {
  const inherited = Object.entries(ours).filter(
    // Variables such as GIT_DIR would have it look at another repository.
    (it): it is [string, string] =>
      typeof it[1] === 'string' && !it[0].startsWith('STOPGATE_') && !it[0].startsWith('GIT_'),
  );
  return { ...Object.fromEntries(inherited), GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
}

/** `XY name` by NUL; a rename is followed by the old name, which is no change of its own. */
function changedNames(status: string): string[] {
  const parts = status.split('\0');
  const names: string[] = [];
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] ?? '';
    if (part.length < 4) continue;
    names.push(part.slice(3));
    if (part[0] === 'R' || part[0] === 'C') index += 1;
  }
  return names;
}

function uncommittedReason(names: readonly string[]): string {
  const listed = names.slice(0, namesMax).join(', ');
  return `Uncommitted changes: ${listed}${names.length > namesMax ? ', …' : ''}`;
}

const isSuccess = (end: GroupEnd) => end.by === 'exit' && end.code === 0;

const interrupted = (by: 'timeout' | 'cancelled', timeoutMs: number): Finding =>
  by === 'cancelled' ? cancelled : { outcome: 'timeout', reason: `git took longer than ${formatDuration(timeoutMs)}` };

/** No repository, no upstream, no git: nobody could tell. */
function couldNotTell({ end, stderr }: GitRun): Finding {
  if (end.by === 'refused')
    return { outcome: 'error', reason: `cannot run git: ${end.code === 'ENOENT' ? 'not found' : end.code}` };
  const message = stderr.trim().split('\n')[0] ?? '';
  const how = end.by === 'exit' ? `exit ${end.code}` : `killed by ${end.by === 'signal' ? end.signal : end.by}`;
  return { outcome: 'error', reason: message === '' ? `git failed (${how})` : `git: ${quote(message)}` };
}
