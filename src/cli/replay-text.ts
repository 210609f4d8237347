/** Writes what a replay prints for people. */
import type { Replay, ReplayLine } from '../../machines/index.ts';
import { describeAnswer, paintAnswer } from '../terminal/answer.ts';
import type { Colors } from '../terminal/colors.ts';
import { clean, cut } from '../terminal/text.ts';
import { formatListing, type Listing } from './listing.ts';
import { taskListing } from './task-listing.ts';
import { workerListing } from './worker-listing.ts';

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
