/** Writes what a replay prints for people. */
import {
  type Decision,
  type Difference,
  decidingGuard,
  type Replay,
  type ReplayLine,
  type WhatIfCounts,
} from '../../../machines/index.ts';
import type { Colors } from '../../terminal/colors.ts';
import { clean, cut, describeAnswer, paintAnswer } from '../../terminal/text.ts';
import { formatListing, type Listing, taskListing, workerListing } from '../listing/listing.ts';

/** A result: whose it is, and below it what was decided and why. */
export function formatReplayLine(line: ReplayLine, colors: Colors, width: number): string[] {
  const { who, answer, paint, reason } = describe(line, colors);
  const why = cut(clean(reason), width - answer.length - 4);
  return [colors.bold(cut(clean(who.join(' · ')), width)), `  ${paint(answer)}  ${why}`.trimEnd()];
}

function describe(line: ReplayLine, colors: Colors) {
  if ('taskId' in line) {
    const { taskId, action } = line;
    if (action === null) return { who: [`task ${taskId}`], answer: 'open', paint: colors.yellow, reason: '' };
    const paint = { complete: colors.green, continue: colors.red, escalate: colors.magenta }[action];
    return { who: [`task ${taskId}`, `iteration ${line.iteration}`], answer: action, paint, reason: line.reason };
  }
  const { worker, attempt, at } = line;
  const who = [worker, ...(attempt === null ? [] : [attempt]), at];
  if (line.decision === null)
    return { who, answer: 'open', paint: colors.yellow, reason: `it waits for: ${line.waitsFor}` };
  return { who, answer: describeAnswer(line), paint: paintAnswer(line, colors), reason: line.reason };
}

/** All actors at one moment, fleet by fleet, as `workers` and `tasks` show them. */
export function formatFleets({ at, fleets }: ReturnType<Replay['view']>, colors: Colors, width: number): string[] {
  const tableOf = <View>(listing: Listing<View>, views: Readonly<Record<string, View>>): string[] => {
    const lines = formatListing(listing, Object.values(views), { colors, width, nowMs: Date.parse(at) });
    return lines.length === 0 ? [] : ['', ...lines];
  };
  return Object.entries(fleets).flatMap(([name, { workers, tasks }], index) => [
    ...(index === 0 ? [] : ['']),
    colors.bold(`fleet ${name} at ${at}`),
    ...tableOf(workerListing, workers),
    ...tableOf(taskListing, tasks),
  ]);
}

/** Writes for people what other policies would have decided. */
export function formatDifference(difference: Difference, colors: Colors, width: number): string[] {
  const { worker, attempt, at, before, after } = difference;
  const answer = (name: string, decision: Decision) => {
    const text = describeAnswer(decision);
    const reason = cut(clean(decision.reason), width - name.length - text.length - 6);
    return `  ${colors.dim(name)}  ${paintAnswer(decision, colors)(text)}  ${reason}`.trimEnd();
  };
  const guard = (decision: Decision) => decidingGuard(decision) ?? 'none';
  const rest =
    after === null
      ? [`  ${colors.dim('after ')}  ${colors.yellow('unknown')}  ${cut(whyUnknown(difference.check), width - 19)}`]
      : [
          answer('after ', after),
          `  ${colors.dim('guard ')}  ${guard(before) === guard(after) ? guard(after) : `${guard(before)} -> ${guard(after)}`}`,
        ];
  const head = cut(clean(`${worker} · ${attempt} · ${at}`), width);
  return [colors.bold(head), answer('before', before), ...rest];
}

const whyUnknown = (check: string | null): string =>
  check === null ? 'it would still be held when the log ends' : `the log has no result of check ${clean(check)}`;

/** `3 attempts compared: 1 would differ, 1 unknown` */
export function describeCounts({ attempts, differ, unknown }: WhatIfCounts): string {
  const compared = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} compared`;
  return `${compared}: ${differ} would differ${unknown === 0 ? '' : `, ${unknown} unknown`}`;
}
