/** The id of an iteration as the tools show it: the wire has a task and a number instead (protocol.md §14). */
import { AppError } from '../../errors.ts';

/** The id holds the iteration and its task, so that the server has nothing to remember. */
export const formatIterationId = (iteration: number, task: string): string => `IT-${iteration}-${task}`;

/** @throws AppError input.bad */
export function parseIterationId(text: string): { task: string; iteration: number } {
  const [, number, task] = /^IT-([1-9]\d{0,8})-([A-Za-z0-9][A-Za-z0-9_-]{0,127})$/.exec(text) ?? [];
  if (number !== undefined && task !== undefined) return { task, iteration: Number(number) };
  throw new AppError(
    'input.bad',
    `'${text.slice(0, 140)}' is not an iterationId; use the one that iteration_start or iteration_next returned, such as IT-1-T-7`,
  );
}
