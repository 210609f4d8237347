/** Where the answer of a check becomes an entry: `check.finished`, of a worker's attempt or of a task's evaluation. */
import { type CheckResult, cutMiddle, nextPromptLengthMax, titleLengthMax } from '../../machines/index.ts';
import type { HostContext } from './context.ts';
import { appendUntilFolded, type OwnEntry } from './own-entries.ts';

type Destination = Pick<OwnEntry, 'messageId' | 'isNeeded' | 'onRefused'> & {
  readonly entity: 'worker' | 'task';
  readonly id: string;
};

/** Stores the result while the fold waits for it. */
export function storeCheckResult(
  context: HostContext,
  result: CheckResult,
  { entity, id, ...how }: Destination,
): Promise<void> {
  return appendUntilFolded(context, { ...how, tail: `own.${entity}.${id}.check.finished`, data: shorten(result) });
}

const resultBytesMax = 60_000;

/** Within the log's limits: it would refuse the entry, and the attempt would wait in vain. */
function shorten(given: CheckResult): CheckResult {
  const result = given.reason === undefined ? given : { ...given, reason: cutMiddle(given.reason, titleLengthMax) };
  if (Buffer.byteLength(JSON.stringify(result)) <= resultBytesMax) return result;
  const { feedback: _, metadata: __, checkpointData: ___, nextPrompt, ...rest } = result;
  const note = `the answer was larger than ${resultBytesMax} bytes; feedback and data are left out, texts are cut`;
  return {
    ...rest,
    ...(nextPrompt === undefined ? {} : { nextPrompt: cutMiddle(nextPrompt, nextPromptLengthMax) }),
    feedback: { note },
  };
}
