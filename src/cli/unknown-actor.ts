/** A worker, task or queue that nobody knows: where it was looked for, and how to find the one that was meant. */
import { AppError } from '../errors.ts';

/** @throws AppError actor.unknown, and those of `answer` */
export async function orNamed<Answer>(
  answer: Promise<Answer>,
  entity: 'worker' | 'task' | 'queue',
  fleet: string,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'actor.unknown')) throw error;
    const message = `${error.message} (fleet ${fleet}); "stopgate ${entity}s" lists those that there are`;
    throw new AppError('actor.unknown', message, { cause: error });
  }
}
