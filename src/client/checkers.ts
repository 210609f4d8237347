/** Seed 002: checkers of task completion, in the fixed words of protocol 5. */
import { missingFilesMessage, noneHoldsMessage, type Plan, remainingStepsMessage } from '../../machines/index.ts';
import { TaskCompletionResult } from './results.ts';

export type TaskCompletionContext = {
  readonly session: { readonly plan: Plan };
  /** What the agent is about to hand in: its draft, else its last words. */
  readonly tentativeOutput: unknown;
  /** Null: there are no files to look at. */
  readonly filesystem: { exists(path: string): boolean | Promise<boolean> } | null;
  readonly stopReason: string | null;
};

export interface TaskCompletionChecker {
  check(context: TaskCompletionContext): TaskCompletionResult | Promise<TaskCompletionResult>;
}

/** Every step of the plan is done. */
export class PlanBasedChecker implements TaskCompletionChecker {
  check({ session }: TaskCompletionContext): TaskCompletionResult {
    const words = remainingStepsMessage(session.plan);
    return words === null ? TaskCompletionResult.ok() : TaskCompletionResult.incomplete(words);
  }
}

/** These files exist. Without a file system it has nothing to say, as the seed has it. */
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

/** `allMustPass`: the first that is incomplete speaks. Else one is enough, and where none passes all of them speak. */
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
