/**
 * Task completion checkers (seed 002), with the messages of protocol.md §5, and validators (seed 000): plain functions
 * that can be served as checks.
 */
import {
  isDone,
  missingFilesMessage,
  noneHoldsMessage,
  type Plan,
  remainingStepsMessage,
} from '../../machines/index.ts';
import { TaskCompletionResult, ValidationResult } from './check-results.ts';

export type TaskCompletionContext = {
  readonly session: { readonly plan: Plan };
  /** The work about to be delivered: the draft if there is one, otherwise the final message. */
  readonly tentativeOutput: unknown;
  /** Null if files cannot be checked. */
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

/** Complete if these files exist. Also complete without a file system, as in the seed. */
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
 * Combines checkers. With `allMustPass` (the default) the first incomplete result decides. Without it, one complete
 * result is enough; if there is none, the feedback lists every failure.
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

export type ValidationParams = {
  /** As reported by the agent, such as `end_turn` or `max_turns`. */
  readonly stopReason: string;
  /** Number of tool calls so far. */
  readonly toolCount: number;
  /** Number of stops blocked so far; 0 at the first attempt. */
  readonly retryCount: number;
};
export type Validator<Params extends ValidationParams = ValidationParams> = (
  params: Params,
) => ValidationResult | Promise<ValidationResult>;

/** Runs validators in order and returns the first incomplete result. */
export function compositeValidator<Params extends ValidationParams = ValidationParams>(
  ...validators: readonly Validator<Params>[]
): Validator<Params> {
  return async (params) => {
    for (const validator of validators) {
      const result = await validator(params);
      if (!result.complete) return result;
    }
    return new ValidationResult({ complete: true, reason: 'All validators passed' });
  };
}

type Todos = readonly { readonly status: string }[];

/** Checks the worker's plan, or the todos that `readTodos` returns. */
export function todoValidator(): Validator<ValidationParams & { readonly plan: Plan }>;
export function todoValidator(readTodos: () => Todos | Promise<Todos>): Validator;
export function todoValidator(
  readTodos?: () => Todos | Promise<Todos>,
): Validator<ValidationParams & { readonly plan?: Plan }> {
  return async ({ plan }) => {
    const todos = readTodos === undefined ? (plan ?? []) : await readTodos();
    const open = todos.filter(({ status }) => !isDone({ title: '', status }));
    return open.length === 0
      ? new ValidationResult({ complete: true, reason: 'All todos done' })
      : new ValidationResult({ complete: false, reason: `${open.length} todos remaining` });
  };
}
