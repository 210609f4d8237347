/** Seed 000: validators. Each is a plain function, and may be served as a check. */
import { isDone, type Plan } from '../../machines/index.ts';
import { ValidationResult } from './results.ts';

export type ValidationParams = {
  /** In the agent's words, such as `end_turn` or `max_turns`. */
  readonly stopReason: string;
  /** Tools used so far. */
  readonly toolCount: number;
  /** Blocked stops so far; 0 at the first attempt. */
  readonly retryCount: number;
};
export type Validator<Params extends ValidationParams = ValidationParams> = (
  params: Params,
) => ValidationResult | Promise<ValidationResult>;

/** All must pass: the first that is incomplete speaks, and those after it are not asked. */
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

/** Looks at the worker's plan, or at the todos that it is given. */
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
