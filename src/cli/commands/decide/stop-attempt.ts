/** decide, probe and verify: three ways to ask about an attempt to stop. */
import { readJson } from '../../../../machines/entries/json.ts';
import type { Decision, WorkerView } from '../../../../machines/index.ts';
import { isId } from '../../../../machines/values/id.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import { describeIdsWithPrefix } from '../../actor-id.ts';
import {
  type Arguments,
  argument,
  type Context,
  defineCommand,
  type Flags,
  listOption,
  option,
  optionalArgument,
} from '../../command.ts';
import { explainUnknown, withRequester } from '../../connection.ts';
import { readText } from '../../input.ts';
import { clientArgs, decisionTimeoutMs, idOf, readId, toDuration, toTimeout } from '../../option-values.ts';
import { formatDecision } from '../../text/decision-text.ts';

/** Maximum output of an attempt (protocol.md §5). */
const outputBytesMax = 32_768;

const attemptArgs = {
  worker: argument('WORKER', 'the id of the worker'),
  body: optionalArgument(
    'JSON',
    'the fields of stop.attempted as an object; "-" reads them from stdin; options take precedence',
  ),
  attempt: option('ID', 'the id of the attempt; repeating it returns the same decision and counts once'),
  'stop-reason': option('TEXT', 'why the agent stops, e.g. end_turn or user_interrupt'),
  output: option('TEXT', "the agent's last output, which is searched for promises"),
  'output-file': option('FILE', 'read the last output from a file; only the last 32 KiB are used'),
  validation: listOption('RULES', "results of validation rules, e.g. 'tests_pass=pass,lint=fail'", toResult),
  files: listOption('A,B', 'the modified files', (text) => text.trim()),
  hold: option('DURATION', 'hold the stop open this long to wait for a task, e.g. 50s', toDuration),
  ...clientArgs,
  timeout: option(
    'DURATION',
    'how long to wait for the decision, e.g. 30s; a bare number is milliseconds (default: 10m plus the hold)',
    toTimeout,
  ),
} as const satisfies Arguments;

export const decide = defineCommand({
  args: attemptArgs,
  details: [
    'Logs an attempt to stop, waits for the decision and prints it, guard by guard.',
    'Exit code 0: it may stop. 1: it may not; the next prompt says what to do.',
  ],
  examples: ['stopgate decide w1', `stopgate decide w1 --stop-reason end_turn --validation 'tests_pass=fail' --json`],
  run: (context) => askAttempt('decide', context.flags.worker, context),
});

/** `probe` and `verify` accept all options of `decide`, so that only the verb of a command line needs to change. */
const askArgs = {
  ...attemptArgs,
  attempt: option('ID', 'accepted as in "stopgate decide", but has no effect'),
  hold: option('DURATION', 'accepted as in "stopgate decide", but has no effect', toDuration),
  timeout: option(
    'DURATION',
    'how long to wait for the answer, e.g. 30s; a bare number is milliseconds (default: 10m plus the hold)',
    toTimeout,
  ),
} as const satisfies Arguments;

export const probe = defineCommand({
  args: askArgs,
  details: [
    'Like "decide", but nothing is logged, counted or held. Shows what the decision would be now.',
    'Exit code 0: it would be allowed to stop. 1: it would not.',
  ],
  examples: ['stopgate probe w1', `stopgate probe w1 --output 'All done. <promise>COMPLETE</promise>'`],
  run: (context) => askAttempt('probe', context.flags.worker, context),
});

export const verify = defineCommand({
  args: {
    ...askArgs,
    worker: optionalArgument('WORKER', 'the id of the worker; omit it with --task'),
    task: option('T', 'verify this task instead of the work of a worker', idOf('task')),
  },
  details: [
    'A final check for scripts and CI. Complete means that every check passes, and every hook of the tasks that the worker holds, or held if it has ended. Waiting, usage limits, retry limits and bypasses do not matter. Nothing is logged or counted.',
    'A task (--task) is complete if a decision completed it. If a worker holds it, it is judged now. A task that its worker only reported as completed is not complete.',
    'Exit code 0: complete. 1: not complete.',
  ],
  examples: ['stopgate verify w1 && git push', 'stopgate verify --task T-1', 'stopgate verify w1 --json'],
  async run(context) {
    const { worker, task, body } = context.flags;
    if (task === undefined && worker !== undefined) return askAttempt('verify', worker, context);
    // Without a worker, the first positional argument is the JSON.
    if (task !== undefined && body === undefined && (worker === undefined || !isId(worker)))
      return askAttempt('verify-task', task, { ...context, flags: { ...context.flags, body: worker } });
    throw new AppError('input.bad', 'name one worker or one task: stopgate verify WORKER, or stopgate verify --task T');
  },
});

type AttemptFlags = Omit<Flags<typeof attemptArgs>, 'worker'>;

/**
 * @returns exit code 0 for allow, 1 for block. @throws AppError input.bad, service.unreachable, stop.incomplete and
 * others
 */
async function askAttempt(
  verb: 'decide' | 'probe' | 'verify' | 'verify-task',
  name: string,
  context: Context<AttemptFlags>,
): Promise<number> {
  const { flags, io, out } = context;
  const id = readId(verb === 'verify-task' ? 'task' : 'worker', name);
  const body = await readBody(context);
  const timeoutMs = flags.timeout ?? decisionTimeoutMs + ((body.holdMs as number | undefined) ?? 0);
  const show = async (answer: unknown): Promise<Decision> => {
    if (!isDecision(answer)) throw await describeNonDecision(answer);
    if (flags.json) await out.json(answer);
    else await out.print(...formatDecision(answer, out.colors, out.width()));
    return answer;
  };
  return withRequester(flags, io, async (requester, fleet) => {
    const entity = verb === 'verify-task' ? 'task' : 'worker';
    const similar = io.isTTY ? await describeIdsWithPrefix(id, { requester, entity, fleet }).catch(() => null) : null;
    if (similar !== null) context.note(`stopgate: no ${entity} is called ${id} yet; did you mean ${similar}?`);
    else if (io.isTTY && verb === 'probe' && (await isNew(id, requester)))
      context.note(`stopgate: worker ${id} is unknown; this is the answer for a new one`);
    try {
      const request = requester.request(verb, id, body, timeoutMs);
      const shown = io.isTTY && verb === 'decide' ? withProgress(request, id, requester, context) : request;
      const answer = verb === 'decide' ? withRepeatHint(shown, body.attempt) : shown;
      const decision = await show(await explainUnknown(answer, entity, fleet));
      return decision.decision === 'allow' ? 0 : 1;
    } catch (error) {
      // The error carries the decision. With --json it is part of the error's body.
      const details =
        error instanceof AppError && error.code === 'stop.incomplete' ? (error.details as { decision?: unknown }) : {};
      if (details.decision === undefined || flags.json) throw error;
      const { decision } = await show(details.decision);
      if (decision === 'block') return 1; // the decision has been printed
      throw error;
    }
  });
}

/** False too if the service does not say it. */
const isNew = (worker: string, requester: Requester): Promise<boolean> =>
  requester.request('get', `worker.${worker}`, {}, progressMs).then(
    () => false,
    (error: unknown) => error instanceof AppError && error.code === 'actor.unknown',
  );

/** A decision without checks takes milliseconds. */
const progressMs = 1_000;

/** Says on stderr what the decision waits for, whenever that changes. */
async function withProgress<Answer>(
  answer: Promise<Answer>,
  worker: string,
  requester: Requester,
  { note }: Context<AttemptFlags>,
): Promise<Answer> {
  let shown = '';
  const show = async () => {
    const { attempt, sentence } = (await requester.request('get', `worker.${worker}`, {}, progressMs)) as WorkerView;
    if (attempt === null || sentence === shown) return;
    shown = sentence;
    note(`stopgate: ${worker}: ${sentence}`);
  };
  const timer = setInterval(() => void show().catch(() => {}), progressMs);
  return answer.finally(() => clearInterval(timer));
}

/** A lost answer leaves open whether the attempt counts, so the error says how to repeat it so that it counts once. */
async function withRepeatHint<Answer>(answer: Promise<Answer>, attempt: unknown): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const { isAnswerLost } = await import('../../../nats/requester.ts');
    if (!(error instanceof AppError && isAnswerLost(error))) throw error;
    const hint =
      typeof attempt === 'string'
        ? `repeat it with --attempt ${attempt}: the same id returns the same decision and counts once`
        : 'the attempt may have been stored; use --attempt ID so that you can repeat it and it counts once';
    throw new AppError(error.code, `${error.message}; ${hint}`, { cause: error });
  }
}

async function readBody({ flags, io, note }: Context<AttemptFlags>): Promise<Record<string, unknown>> {
  const text = flags.body === '-' ? await readText('-', io) : (flags.body ?? '');
  const parsed = readJson(text.trim(), flags.body === '-' ? 'the input' : 'the second argument');
  if (!parsed.ok) throw new AppError('input.bad', `${parsed.message}; write an object such as '{"output":"done"}'`);
  if (flags.output !== undefined && flags['output-file'] !== undefined) {
    throw new AppError('input.bad', '--output and --output-file cannot be used together; use one of them');
  }
  const output = flags['output-file'] === undefined ? flags.output : await readText(flags['output-file'], io);
  const given = {
    attempt: flags.attempt,
    stopReason: flags['stop-reason'],
    output: output === undefined ? undefined : cutOutput(output, note),
    validation: flags.validation,
    files: flags.files?.filter((file) => file !== ''),
    holdMs: flags.hold,
  };
  const body = {
    ...parsed.value,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
  // Most attempts have no fields and need not load the schema.
  if (Object.keys(body).length === 0) return body;
  const { attemptSchema, toIssues } = await import('../../../../machines/index.ts');
  const checked = attemptSchema.safeParse(body);
  if (checked.success) return body;
  throw new AppError('input.bad', 'not a valid stop.attempted', { issues: toIssues(checked.error, body) });
}

async function describeNonDecision(answer: unknown): Promise<AppError> {
  const { decisionSchema, describeIssues, toIssues } = await import('../../../../machines/index.ts');
  const { error } = decisionSchema.safeParse(answer);
  const why = error === undefined ? '' : `: ${describeIssues(toIssues(error, answer))}`;
  return new AppError('service.unreachable', `the answer is not a decision${why}`);
}

/** Keeps the end, which matters most: entries have a size limit. */
function cutOutput(text: string, note: (line: string) => void): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= outputBytesMax) return text;
  note(`stopgate: the output has ${bytes.length} bytes; sending only the last ${outputBytesMax}`);
  return new TextDecoder().decode(bytes.subarray(-outputBytesMax)).replace(/^\ufffd+/, '');
}

function toResult(text: string): { rule: string; passed: boolean } {
  const [, rule, result] = /^\s*([^=]+?)\s*=\s*(pass|fail)\s*$/.exec(text) ?? [];
  if (rule !== undefined) return { rule, passed: result === 'pass' };
  throw new AppError('input.bad', `'${text}' is not a result; write rule=pass or rule=fail, separated by commas`);
}

// The fields that printing a decision needs. Loading the whole schema takes longer than waiting for a decision, so it
// is used only to explain an invalid answer.

type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === 'string';
const isNumber: Test = (value) => typeof value === 'number';
const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value);
const oneOf =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value);
const listOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test);
const objectOf =
  (fields: Readonly<Record<string, Test>>): Test =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, test]) => test((value as Record<string, unknown>)[name]));

const shape = objectOf({
  v: oneOf(1),
  worker: isText,
  task: orNull(isText),
  tasks: listOf(isText),
  attempt: orNull(isText),
  seq: orNull(isNumber),
  decision: oneOf('allow', 'block'),
  action: isText,
  cause: isText,
  reason: isText,
  nextPrompt: orNull(isText),
  feedback: listOf(objectOf({ check: isText, outcome: isText, message: isText })),
  state: isText,
  retry: objectOf({ count: isNumber, max: orNull(isNumber) }),
  idle: objectOf({ ms: isNumber, limitMs: orNull(isNumber), remainingMs: orNull(isNumber) }),
  pendingTasks: isNumber,
  policy: objectOf({ name: isText }),
  verdicts: listOf(objectOf({ guard: isText, verdict: oneOf('pass', 'block', 'allow', 'error'), detail: isText })),
  tookMs: isNumber,
});

export const isDecision = (answer: unknown): answer is Decision => shape(answer);
