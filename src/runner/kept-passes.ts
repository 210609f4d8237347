/**
 * Passes of commands with `reuse: tree`: a command that passed is not run again while the git state of its folder and the
 * command itself are the same. Failures are never kept. Passes are in memory alone: a new process, and a changed
 * configuration, know of none.
 */
import { createHash } from 'node:crypto';
import { setNewest } from '../newest.ts';
import type { GitPlace } from './git/run-git.ts';
import { readTreeState } from './git/tree-state.ts';
import type { Interruption } from './interruption.ts';
import type { Finding } from './request.ts';

export type KeptPasses = {
  /** Runs it, unless it has passed in this state. Outside git it always runs. */
  takeOrRun(command: KeptCommand, run: () => Promise<Finding>): Promise<Finding>;
  clear(): void;
};
/** `config`: all that its configuration says. `folder`: a real path. */
export type KeptCommand = {
  readonly name: string;
  readonly config: object;
  readonly folder: string;
  readonly place: GitPlace;
  readonly stop: Interruption;
};

/** The states of the last days, for the folders of a machine. Each takes some hundred bytes. */
const passesMax = 1_000;

export function createKeptPasses(): KeptPasses {
  /** When each ran, the oldest first. */
  const passes = new Map<string, string>();
  return {
    async takeOrRun(command, run) {
      const key = await keyOf(command);
      const known = key === null ? undefined : passes.get(key);
      if (known !== undefined) return { outcome: 'pass', metadata: { reused: known } };
      const at = new Date().toISOString();
      const finding = await run();
      // What changed the folder while it ran, or the command itself, may have made it pass.
      if (key !== null && finding.outcome === 'pass' && (await keyOf(command)) === key)
        setNewest(passes, key, at, passesMax);
      return finding;
    },
    clear: () => passes.clear(),
  };
}

async function keyOf({ name, config, folder, place, stop }: KeptCommand): Promise<string | null> {
  const state = await readTreeState(folder, place, stop);
  if (state === null || stop.cause !== null) return null;
  return createHash('sha256')
    .update(JSON.stringify([name, config, folder, state]))
    .digest('hex');
}
