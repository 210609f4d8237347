/**
 * Flakiness: two runs of the same check that had to give the same result, and did not. Two runs are compared only where the
 * log shows that they looked at the same thing: the same tree, the same attempt, or a worker that changed nothing between.
 */
import type { CheckResult } from '../../../machines/index.ts';
import { setNewest } from '../../newest.ts';

/** Two runs that can be compared. Null: the log shows no earlier run that looked at the same thing. */
export type Pair = { readonly differs: boolean } | null;
export type Flakiness = {
  /** A check has passed or failed. What was taken over from an earlier run is no run. */
  result(worker: string, result: CheckResult, atMs: number): Pair;
  /** A worker's entry. `tool` is asked for the tool's name, where it is one that was used. */
  entry(worker: string, type: string, atMs: number, tool: () => unknown): void;
};

/** The most workers that are compared. More rarely work at the same time; those silent the longest are forgotten. */
const workersMax = 5_000;
/** A policy rarely has more than eight. */
const checksMax = 64;
/** The trees of a busy day; each takes some hundred bytes. The oldest are forgotten. */
const treesMax = 10_000;
/** The name of a tree is a commit or a digest. Longer text is none. */
const treeLengthMax = 200;
/** No agent takes a turn in which it changes something in less. */
const turnMs = 1_000;

/** `results`: those since the worker last did something that a check may see, by check; true: it passed. */
type Seen = { reportsTools: boolean; resultMs: number; readonly results: Map<string, boolean> };

/** Nothing that a check looks at. */
const idleTypes: ReadonlySet<string> = new Set(['heartbeat.sent', 'limit.reached', 'limit.cleared', 'usage.reported']);
/** Tools of the common agents that only read, in lower case. */
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
      // A character that no id has stands between them.
      const key = `${check}\n${tree}`;
      const onTree = tree === null ? undefined : trees.get(key);
      if (tree !== null) setNewest(trees, key, passed, treesMax);
      // The tree is the better witness: where one is named, nothing else counts.
      if (tree !== null) return onTree === undefined ? null : { differs: onTree !== passed };
      return before === undefined ? null : { differs: before !== passed };
    },
    entry(worker, type, atMs, tool) {
      if (idleTypes.has(type)) return;
      const seen = seenOf(worker);
      if (type === 'stop.attempted') {
        // Nobody knows what a worker did that reports no tools, unless it had no time to do anything.
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
