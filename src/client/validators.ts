/** Seed 000: validators. Each is a plain function and can be served as a check. */
import { isDone, type Plan } from '../../machines/index.ts';
import { ValidationResult } from './check-results.ts';

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
