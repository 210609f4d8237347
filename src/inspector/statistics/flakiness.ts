/**
 * Detects flaky checks: runs on unchanged work with different results. Two runs are compared only if the log shows that
 * the work was the same: the same tree, the same attempt, or a worker that changed nothing in between.
 */
import type { CheckResult } from '../../../machines/index.ts';
import { setNewest } from '../../set-newest.ts';

/** The comparison with an earlier run, or null if the log shows no earlier run on the same work. */
export type Pair = { readonly differs: boolean } | null;
export type Flakiness = {
  /** Records that a check passed or failed. Results reused from an earlier run are ignored. */
  result(worker: string, result: CheckResult, atMs: number): Pair;
  /** Records a worker's entry. `tool` returns the tool's name; it is called only for tool entries. */
  entry(worker: string, type: string, atMs: number, tool: () => unknown): void;
};

/** Maximum number of workers to remember. More rarely work at the same time; the longest silent are forgotten. */
const workersMax = 5_000;
/** Maximum number of checks per worker. A policy rarely has more than eight. */
const checksMax = 64;
/** Maximum number of trees to remember: a busy day's worth, a few hundred bytes each. The oldest are forgotten. */
const treesMax = 10_000;
/** Trees are named by a commit or digest. Longer texts are ignored. */
const treeLengthMax = 200;
/** No agent can change anything in a turn shorter than this. */
const turnMs = 1_000;

/**
 * `results` has the outcome (true for pass) of each check since the worker last did something that a check could see.
 */
type Seen = { reportsTools: boolean; resultMs: number; readonly results: Map<string, boolean> };

/** Entry types without effect on the work. */
const idleTypes: ReadonlySet<string> = new Set(['heartbeat.sent', 'limit.reached', 'limit.cleared', 'usage.reported']);
/** Read-only tools of common agents, in lower case. */
const readingTools: ReadonlySet<string> = new Set([
  'read',
  'grep',
  'glob',
  'ls',
  'list',
  'websearch',
  'webfetch',
  'todoread',
  'todowrite',
  'notebookread',
  'read_file',
  'read_many_files',
  'list_directory',
  'search_file_content',
  'google_web_search',
  'web_fetch',
]);

export function createFlakiness(): Flakiness {
  const workers = new Map<string, Seen>();
  const trees = new Map<string, boolean>();
  const seenOf = (worker: string): Seen => {
    const seen = workers.get(worker) ?? { reportsTools: false, resultMs: 0, results: new Map() };
    setNewest(workers, worker, seen, workersMax);
    return seen;
  };
  return {
    result(worker, { check, outcome, metadata }, atMs) {
      if (metadata?.reused !== undefined) return null;
      const passed = outcome === 'pass';
      const seen = seenOf(worker);
      const before = seen.results.get(check);
      if (before !== undefined || seen.results.size < checksMax) seen.results.set(check, passed);
      seen.resultMs = atMs;
      const tree = treeOf(metadata);
      // Ids contain no line feed.
      const key = `${check}\n${tree}`;
      const onTree = tree === null ? undefined : trees.get(key);
      if (tree !== null) setNewest(trees, key, passed, treesMax);
      // The tree identifies the work better than the order of entries, so if it is known, nothing else counts.
      if (tree !== null) return onTree === undefined ? null : { differs: onTree !== passed };
      return before === undefined ? null : { differs: before !== passed };
    },
    entry(worker, type, atMs, tool) {
      if (idleTypes.has(type)) return;
      const seen = seenOf(worker);
      if (type === 'stop.attempted') {
        // A worker that reports no tools may have changed anything, unless it had no time to.
        if (!seen.reportsTools && atMs - seen.resultMs > turnMs) seen.results.clear();
        return;
      }
      if (type === 'tool.used' || type === 'tool.started') {
        if (type === 'tool.used') seen.reportsTools = true;
        const name = tool();
        if (typeof name === 'string' && readingTools.has(name.toLowerCase())) return;
      }
      seen.results.clear();
    },
  };
}

function treeOf(metadata: CheckResult['metadata']): string | null {
  const tree = metadata?.tree;
  return typeof tree === 'string' && tree !== '' && tree.length <= treeLengthMax ? tree : null;
}
