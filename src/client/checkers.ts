/**
 * Seed 002: task completion checkers, with the messages that protocol.md §5 fixes. Seed 000: validators, each a plain function
 * that can be served as a check.
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

export type ValidationParams = {
  /** The reason as the agent reports it, such as `end_turn` or `max_turns`. */
  readonly stopReason: string;
  /** Tools used so far. */
  readonly toolCount: number;
  /** Blocked stops so far; 0 at the first attempt. */
  readonly retryCount: number;
};
export type Validator<Params extends ValidationParams = ValidationParams> = (
  params: Params,
) => ValidationResult | Promise<ValidationResult>;

/** All must pass: the first incomplete result decides, and the validators after it do not run. */
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
