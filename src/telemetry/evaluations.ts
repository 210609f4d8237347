/**
 * The result of each check as an event of OpenTelemetry's GenAI conventions, `gen_ai.evaluation.result`: a log record
 * with only the OpenTelemetry API. Without an SDK in this process nothing is recorded.
 */
import { context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import { logs, SeverityNumber } from '@opentelemetry/api-logs';

/** `warn`: the check did not pass, but its policy only warns. `error` and `timeout`: nothing was judged. */
export type Evaluation = {
  readonly check: string;
  readonly outcome: 'pass' | 'warn' | 'fail' | 'error' | 'timeout';
  readonly reason?: string | undefined;
};

/** Looked up each time, because the SDK may be installed later. */
const logger = () => logs.getLogger('stopgate');

/** Tells whether an SDK is installed. */
export const isEvaluating = (): boolean => logger().enabled();

/** @param span of the attempt, if it is traced */
export function emitEvaluation(
  { check, outcome, reason }: Evaluation,
  attributes: Readonly<Record<string, string>>,
  span: Span | undefined,
): void {
  if (!isEvaluating()) return;
  const isJudged = outcome !== 'error' && outcome !== 'timeout';
  logger().emit({
    eventName: 'gen_ai.evaluation.result',
    severityNumber: SeverityNumber.INFO,
    context: span === undefined ? context.active() : trace.setSpan(ROOT_CONTEXT, span),
    attributes: {
      ...attributes,
      'gen_ai.evaluation.name': check,
      ...(isJudged
        ? { 'gen_ai.evaluation.score.value': outcome === 'pass' ? 1 : 0, 'gen_ai.evaluation.score.label': outcome }
        : { 'error.type': outcome }),
      ...(reason !== undefined && reason !== '' && { 'gen_ai.evaluation.explanation': reason }),
    },
  });
}
