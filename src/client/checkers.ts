/** Seed 002: task completion checkers, with the messages that protocol.md §5 fixes. */
import { missingFilesMessage, noneHoldsMessage, type Plan, remainingStepsMessage } from '../../machines/index.ts';
import { TaskCompletionResult } from './check-results.ts';

export type TaskCompletionContext = {
  readonly session: { readonly plan: Plan };
  /** The work that the agent is about to deliver: its draft, else its final message. */
  readonly tentativeOutput: unknown;
  /** It is null if files cannot be checked. */
  readonly filesystem: { exists(path: string): boolean | Promise<boolean> } | null;
  readonly stopReason: string | null;
};

export interface TaskCompletionChecker {
  check(context: TaskCompletionContext): TaskCompletionResult | Promise<TaskCompletionResult>;
}

/** Complete if every step of the plan is done. */
export class PlanBasedChecker implements TaskCompletionChecker {
  check({ session }: TaskCompletionContext): TaskCompletionResult {
    const message = remainingStepsMessage(session.plan);
    return message === null ? TaskCompletionResult.ok() : TaskCompletionResult.incomplete(message);
  }
}

/** Complete if these files exist, and without a file system, as in the seed. */
export class FileExistsChecker implements TaskCompletionChecker {
  readonly #required: readonly string[];

  constructor(requiredFiles: readonly string[]) {
    this.#required = requiredFiles;
  }

  async check({ filesystem }: TaskCompletionContext): Promise<TaskCompletionResult> {
    if (filesystem === null) return TaskCompletionResult.ok();
    const missing: string[] = [];
    for (const file of this.#required) if (!(await filesystem.exists(file))) missing.push(file);
    return missing.length === 0
      ? TaskCompletionResult.ok()
      : TaskCompletionResult.incomplete(missingFilesMessage(missing));
  }
}

/**
 * `allMustPass`: the first incomplete result decides. Otherwise one complete result is enough, and if there is none,
 * the feedback names all of them.
 */
export class CompositeChecker implements TaskCompletionChecker {
  readonly #checkers: readonly TaskCompletionChecker[];
  readonly #allMustPass: boolean;

  constructor({
    checkers,
    allMustPass = true,
  }: {
    readonly checkers: readonly TaskCompletionChecker[];
    readonly allMustPass?: boolean;
  }) {
    this.#checkers = checkers;
    this.#allMustPass = allMustPass;
  }

  async check(context: TaskCompletionContext): Promise<TaskCompletionResult> {
    const failed: string[] = [];
    for (const checker of this.#checkers) {
      const result = await checker.check(context);
      if (result.complete && !this.#allMustPass) return result;
      if (!result.complete && this.#allMustPass) return result;
      if (!result.complete) failed.push(result.feedback ?? '');
    }
    return failed.length === 0 ? TaskCompletionResult.ok() : TaskCompletionResult.incomplete(noneHoldsMessage(failed));
  }
}
