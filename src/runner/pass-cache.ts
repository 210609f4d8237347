/**
 * Cache for commands with `reuse: tree`: a command that passed is not run again while its configuration, its task and
 * the git state of its folder are unchanged. The task counts because the command may read `STOPGATE_TASK`. Failures are
 * never cached. The cache is in memory, and is cleared when the configuration changes.
 */
import { createHash } from 'node:crypto';
import type { CheckReply } from '../host/effects/check-reply.ts';
import { setNewest } from '../set-newest.ts';
import type { Interruption } from '../timer.ts';
import type { GitWorkspace } from './git/run-git.ts';
import { readTreeState } from './git/tree-state.ts';

export type PassCache = {
  /** Runs the command unless it has passed in this state. Always runs it outside a git repository. */
  getOrRun(command: CachedCommand, run: () => Promise<CheckReply>): Promise<CheckReply>;
  clear(): void;
};
/** `config`: the command's complete configuration. `folder`: a real path. */
type CachedCommand = {
  readonly name: string;
  readonly config: object;
  /** The task claimed last, or null if none is held. */
  readonly task: string | null;
  readonly folder: string;
  readonly workspace: GitWorkspace;
  readonly stop: Interruption;
};

/** Enough for several days of work on one machine. Each pass takes a few hundred bytes. */
const passesMax = 1_000;

export function createPassCache(): PassCache {
  /** Maps keys to the time of the run, oldest first. */
  const passes = new Map<string, string>();
  return {
    async getOrRun(command, run) {
      const key = await keyOf(command);
      const known = key === null ? undefined : passes.get(key);
      if (known !== undefined) return { outcome: 'pass', metadata: { reused: known } };
      const startedAt = new Date().toISOString();
      const reply = await run();
      // If the folder changed during the run, the pass may not apply to either state.
      if (key !== null && reply.outcome === 'pass' && (await keyOf(command)) === key)
        setNewest(passes, key, startedAt, passesMax);
      return reply;
    },
    clear: () => passes.clear(),
  };
}

async function keyOf({ name, config, task, folder, workspace, stop }: CachedCommand): Promise<string | null> {
  const state = await readTreeState(folder, workspace, stop);
  if (state === null || stop.cause !== null) return null;
  return createHash('sha256')
    .update(JSON.stringify([name, config, task, folder, state]))
    .digest('hex');
}
