/** What the host asks of a runner, and what it gets back. The room that starts processes implements `RunCheck`. */
import type { CheckResult, GitAspects } from '../../machines/index.ts';

type RunIds = {
  readonly fleet: string;
  readonly worker: string;
  readonly task: string | null;
  readonly attempt: string;
};

/** `cwd`: the worker's own. `timeoutMs`: the check's own; null: the command's, or 120 s. */
export type RunRequest = { readonly cwd: string | null; readonly timeoutMs: number | null } & (
  | { readonly kind: 'command'; readonly name: string; readonly env: RunIds }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | ({ readonly kind: 'git'; readonly worker: string } & GitAspects)
);

/** What a check found. */
export type RunResult = Omit<CheckResult, 'attempt' | 'check'>;

/** The runner inside the service. `onStarted`: the check has its place, and its time runs. */
export type RunCheck = (request: RunRequest, signal: AbortSignal, onStarted: () => void) => Promise<RunResult>;
