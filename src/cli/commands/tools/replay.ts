/** replay: folds a file of entries, or the log of a fleet, with the service's own machines. Never runs or publishes. */
import {
  createReplay,
  createWhatIf,
  type Decision,
  type Difference,
  decidingGuard,
  formatIsoTime,
  type PolicySet,
  type Replay,
  type ReplayLine,
  type WhatIfCounts,
} from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { type Colors, clean, cut, describeAnswer, paintAnswer } from '../../../terminal/text.ts';
import { type Context, defineCommand, type Flags, flag, option, optionalArgument } from '../../command.ts';
import { formatListing, type Listing, taskListing, workerListing } from '../../listing/listing.ts';
import { feedFold } from '../../log-source.ts';
import { clientArgs, idOf, timeForms, toTime } from '../../option-values.ts';
import { readPolicyFile } from '../../policy-file.ts';

const args = {
  file: optionalArgument(
    'FILE.jsonl',
    'entries, one JSON object per line; also .gz, or a folder of such files; "-" for stdin',
  ),
  policy: option('FILE', 'use the policies of this stopgate.yaml instead of those in the log'),
  diff: flag('print only what --policy would decide differently, with both decisions'),
  since: option('TIME', `with --diff: compare attempts since then: ${timeForms}`, toTime),
  at: option('TIME', `print all workers and tasks as of this time: ${timeForms}`, toTime),
  worker: option('W', 'only decisions about this worker', idOf('worker')),
  archive: option('DIR', 'with --fleet: the folder with the entries that retention has removed from the log'),
  ...clientArgs,
  fleet: option('F', 'read the live log of this fleet up to now instead of a file'),
  json: flag('print JSON lines (the default without a terminal, except with --diff)'),
} as const;

type ReplayContext = Context<Flags<typeof args>>;

export const replay = defineCommand({
  args,
  details: [
    'A line of a file is {"at":"<time>","subject":"stopgate.main.worker.w1.tool.used","data":{…}}, as "tail --json" prints it. Bad lines are reported on stderr and skipped; exit code 2.',
    'Prints the decision of each stop and one hook result per iteration.validated, as JSON lines, or as text on a terminal. Open attempts come last, with "decision": null. Times and check results come from the log: nothing is run or published.',
    '',
    '--diff folds the log twice, with its own policies and with those of --policy. A decision that depends on a check without a result in the log is unknown ("after": null, and "check"). The entries stay the same, even if an agent would have acted differently after another decision. Texts alone do not count as a difference. Differences are not an error: the exit code is 0. With --json a line is {"worker","attempt","at","before","after"}, with both decisions.',
    '',
    'If retention has removed the beginning of a live log, a complete replay needs --archive. --at, and --diff with --since, continue from a snapshot that the service took before that time. A file without the beginning of its log is folded as it is, with a note on stderr: earlier policies and plans are missing.',
    'A live log needs operator credentials. Those of "stopgate dev" are found automatically.',
  ],
  examples: [
    'stopgate replay log.jsonl --policy stopgate.yaml',
    'stopgate replay --fleet main --policy new.yaml --diff --since 2026-03-02',
    'stopgate replay --fleet main --at 2026-03-02T12:00:00.000Z',
  ],
  run: async (context) => {
    const { flags } = context;
    refuseConflicts(flags);
    const { at: untilMs, since: sinceMs, worker: only = null } = flags;
    if (untilMs !== undefined && untilMs > Date.now())
      context.note(
        `stopgate: --at ${formatIsoTime(untilMs)} is in the future; this is the state if no more entries come until then`,
      );
    const policies = flags.policy === undefined ? undefined : await readPolicies(flags.policy, context);
    if (!flags.diff) return printDecisions(context, policies, untilMs, only);
    if (policies === undefined) {
      throw new AppError('input.bad', `nothing to compare: '${flags.policy}' has no policies; add some`);
    }
    return printDifferences(context, policies, sinceMs, only);
  },
});

function refuseConflicts({
  file,
  fleet,
  nats,
  creds,
  config,
  diff,
  policy,
  since,
  at,
  worker,
  archive,
}: ReplayContext['flags']) {
  const isFile = file !== undefined;
  const faults = {
    'FILE.jsonl and --fleet cannot be used together; use one of them': isFile && fleet !== undefined,
    'FILE.jsonl is missing; for a live log use --fleet (see "stopgate replay --help")': !isFile && fleet === undefined,
    '--nats, --creds, --config and --archive need a live log; use --fleet instead of a file':
      isFile && (nats ?? creds ?? config ?? archive) !== undefined,
    '--diff needs the policies to compare with; add --policy FILE': diff && policy === undefined,
    '--diff and --at cannot be used together; use one of them': diff && at !== undefined,
    '--since needs --diff': since !== undefined && !diff,
    '--worker and --at cannot be used together; use one of them': worker !== undefined && at !== undefined,
  };
  const fault = Object.entries(faults).find(([, holds]) => holds);
  if (fault !== undefined) throw new AppError('input.bad', fault[0]);
}

async function printDecisions(
  context: ReplayContext,
  policies: PolicySet | undefined,
  untilMs: number | undefined,
  only: string | null,
): Promise<number> {
  const { out, io, flags } = context;
  const isText = io.isTTY && !flags.json;
  const format = (result: ReplayLine) =>
    isText ? formatReplayLine(result, out.colors, out.width()).join('\n') : JSON.stringify(result);
  const folded = createReplay({
    ...(policies === undefined ? {} : { policies }),
    ...(untilMs === undefined ? {} : { untilMs }),
  });
  const toLines = (results: readonly ReplayLine[]) =>
    results
      .filter((result) => only === null || ('worker' in result && result.worker === only))
      .map((result) => `${format(result)}\n`)
      .join('');
  let isSilent = true;
  // A snapshot was folded under the policies of the log, so other policies need the whole log.
  const reach = untilMs === undefined || policies !== undefined ? 'whole' : { fromMs: untilMs + 1 };
  const code = await feedFold(folded, context, { untilMs, reach }, () => {
    const results = folded.take();
    const text = untilMs === undefined ? toLines(results) : '';
    if (text !== '') isSilent = false;
    return text;
  });
  const fault = folded.fault();
  if (fault !== null) throw new AppError('rules.unknown', fault);
  if (untilMs === undefined) {
    const left = toLines(folded.open());
    await out.write(left);
    if (isSilent && left === '' && io.isTTY)
      context.note(`stopgate: no decisions${only === null ? '' : ` about worker ${only}`}`);
    return code;
  }
  const view = folded.view();
  if (isText) await out.print(...formatFleets(view, out.colors, out.width()));
  else await out.json(view);
  if (Object.values(view.fleets).every(({ workers, tasks }) => isEmpty(workers) && isEmpty(tasks)))
    context.note(`stopgate: this log had no workers or tasks at ${view.at}`);
  return code;
}

const isEmpty = (actors: object): boolean => Object.keys(actors).length === 0;

async function printDifferences(
  context: ReplayContext,
  policies: PolicySet,
  sinceMs: number | undefined,
  only: string | null,
): Promise<number> {
  const { flags, out, note } = context;
  const compared = createWhatIf({
    policies,
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(only === null ? {} : { worker: only }),
  });
  const toText = () =>
    compared
      .take()
      .map((difference) =>
        flags.json ? JSON.stringify(difference) : formatDifference(difference, out.colors, out.width()).join('\n'),
      )
      .map((text) => `${text}\n`)
      .join('');
  const reach = sinceMs === undefined ? 'whole' : { fromMs: sinceMs };
  const code = await feedFold(compared, context, { reach }, toText);
  compared.end();
  await out.write(toText());
  note(describeCounts(compared.counts));
  if (compared.counts.attempts === 0) {
    const whose = only === null ? '' : ` of worker ${only}`;
    const when = sinceMs === undefined ? '' : ` since ${formatIsoTime(sinceMs)}`;
    note(`stopgate: this log has no decided attempts${whose}${when}`);
  }
  return code;
}

/** Returns undefined if the file does not mention policies: then those in the log apply, as for a service. */
async function readPolicies(path: string, context: ReplayContext): Promise<PolicySet | undefined> {
  const policies = await readPolicyFile(path, context);
  if (policies === undefined && !context.flags.diff)
    context.note(`stopgate: '${path}' has no policies, so those in the log apply`);
  return policies;
}

/** Formats the actor of a result, and below it the decision and its reason. */
function formatReplayLine(line: ReplayLine, colors: Colors, width: number): string[] {
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
    return { who, answer: 'open', paint: colors.yellow, reason: `waiting for ${line.waitsFor}` };
  return { who, answer: describeAnswer(line), paint: paintAnswer(line, colors), reason: line.reason };
}

/** Formats all actors at one time, fleet by fleet, like `workers` and `tasks`. */
function formatFleets({ at, fleets }: ReturnType<Replay['view']>, colors: Colors, width: number): string[] {
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

/** Formats one difference between two policies. */
function formatDifference(difference: Difference, colors: Colors, width: number): string[] {
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
  check === null ? 'still held at the end of the log' : `the log has no result of check ${clean(check)}`;

/** `3 attempts compared: 1 would differ, 1 unknown` */
function describeCounts({ attempts, differ, unknown }: WhatIfCounts): string {
  const compared = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} compared`;
  return `${compared}: ${differ} would differ${unknown === 0 ? '' : `, ${unknown} unknown`}`;
}
