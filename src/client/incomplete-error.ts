import type { Decision, Feedback } from '../../machines/index.ts';
import { AppError } from '../errors.ts';

/** The final verification failed (seed 002): the work is not complete. The message is the decision's reason. */
export class IncompleteError extends AppError {
  override readonly name = 'IncompleteError';
  readonly decision: Decision;
  readonly feedback: readonly Feedback[];

  constructor(decision: Decision) {
    super('stop.incomplete', decision.reason, { details: { decision } });
    this.decision = decision;
    this.feedback = decision.feedback;
  }
}
