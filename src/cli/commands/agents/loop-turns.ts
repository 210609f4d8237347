/** Turns of `stopgate loop`: a command runs, and again with the next prompt, until it may stop. */
import { randomBytes } from 'node:crypto';
import type { Decision } from '../../../../machines/index.ts';
import { formatDuration } from '../../../../machines/values/time.ts';
import { limitEndIn, tellsOfLimit } from '../../../agents/shared/limit-end.ts';
import { firstChars, plainText } from '../../../agents/shared/text.ts';
import { createTurnPauses } from '../../../agents/shared/turn-pauses.ts';
import type { Requester } from '../../../nats/requester.ts';
import { cannotRun, type GroupEnd } from '../../../runner/process-group.ts';
import { count, describeAnswer } from '../../../terminal/text.ts';
import { sleep } from '../../../timer.ts';
import type { Context } from '../../command.ts';
import { environmentOf, runTurn, type Turn, untilBack } from './agent-turn.ts';

/** Checks may be slow, and a decision may be held. */
const patienceMs = 600_000;
/** A usage limit, background work or a person's answer is looked for this often. */
export const lookMs = 2_000;
const probeTimeoutMs = 10_000;
/** A limit that takes longer is tried again after this time: its end comes from words, and a person may have lifted it. */
const limitLookMs = 3_600_000;
/** A worker that is silent for 2 minutes is stale, and may lose its task. A sign of life may be late or lost three times. */
const signOfLifeMs = 30_000;
/** An agent says at its end that a limit has stopped it. */
const wordsMax = 2_000;
/** The log stores this much of a prompt, as of a person's in an agent with hooks. The command gets all of it. */
const storedCharsMax = 2_000;

export type TurnsContext = Pick<
  Context<{ readonly command: readonly string[]; readonly json: boolean; readonly continue: boolean }>,
  'flags' | 'io' | 'out' | 'note'
>;
export type Run = {
  readonly worker: string;
  /** The most that there may be. */
  readonly turns: number;
  /** The first, after a turn that ended at once. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  readonly context: TurnsContext;
  /** Reads the prompt again for each turn. */
  readonly readPrompt: () => Promise<string>;
  /** Further variables of the command. */
  readonly env?: Readonly<Record<string, string>>;
  /** Each attempt has these fields beside its output. */
  readonly fields?: object;
  /** A block by which the turns end too. */
  readonly endsBy?: (decision: Decision) => boolean;
  /** How often the worker shows that it is alive while the command runs. Default: 30 s. */
  readonly signOfLifeMs?: number;
};
/** The decision by which the turns ended; `turns`: they were used up; `aborted`: by Ctrl-C. */
export type TurnsEnd = Decision | 'turns' | 'aborted';

export async function takeTurns(requester: Requester, run: Run): Promise<TurnsEnd> {
  const { worker, turns, pauseMs, signal, context, readPrompt, env = {}, fields = {}, endsBy = () => false } = run;
  const { flags, out, note } = context;
  const screen = openScreen(context);
  let next: string | null = null;
  const pauses = createTurnPauses(pauseMs);
  for (let turn = 1; turn <= turns; turn += 1) {
    const prompt: string = flags.continue && next !== null ? next : joinPrompts(await readPrompt(), next);
    // A person's prompt, which sets the count of retries back, is the first alone.
    if (turn === 1)
      await requester.publish(`worker.${worker}.prompt.submitted`, { text: firstChars(prompt, storedCharsMax) });
    else await requester.publish(`worker.${worker}.heartbeat.sent`, {});
    const startedMs = performance.now();
    screen.begin();
    const alive = showLife(requester, worker, run.signOfLifeMs ?? signOfLifeMs);
    const spec = { ...specOf(context, { worker, turn, prompt, env }), onOutput: screen.write };
    const ran = await runTurn(spec, signal).finally(alive.end);
    screen.endLine();
    const turnMs = performance.now() - startedMs;
    if (signal.aborted) return 'aborted';
    if (ran.end.by === 'refused') throw cannotRun(context.flags.command[0] as string, ran.end.code, tooLong);
    const failed = failureOf(ran.end);
    // A command that ran out of time was not stopped by a limit, whatever it has printed.
    const mayBeLimit = failed !== null && ran.end.by === 'exit';
    const limitEnd = mayBeLimit ? limitEndOf(`${ran.output.slice(-wordsMax)}\n${screen.errors()}`, Date.now()) : null;
    if (limitEnd !== null) await requester.publish(`worker.${worker}.limit.reached`, { until: limitEnd });
    const decision = await ask(
      requester,
      { worker, what: `turn ${turn}`, signal, note },
      { output: ran.output, ...(failed === null ? {} : { stopReason: failed }), ...fields },
    );
    if (flags.json) await out.json(decision);
    const how = failed === null ? '' : ` (${failed})`;
    const why = decision.reason && `: ${decision.reason}`;
    const isEnd = decision.decision === 'allow' || endsBy(decision);
    const waitMs = !isEnd && turn < turns ? pauses.after(turnMs) : 0;
    const wait = waitMs > 0 ? `; it ended at once, so the next turn starts in ${formatDuration(waitMs)}` : '';
    note(`stopgate: turn ${turn} of ${worker}${how}: ${describeAnswer(decision)}${why}${wait}`);
    const isLimited = decision.decision === 'allow' && decision.cause === 'limited' && turn < turns;
    if (isLimited) {
      const when = limitEnd === null ? '' : `, at ${limitEnd}`;
      note(`stopgate: ${worker} goes on when its usage limit is over${when}`);
      const isOver = await waitWhile(requester, run, ({ cause }) => cause === 'limited', limitLookMs);
      if (signal.aborted) return 'aborted';
      if (!isOver) {
        // The words may have been read wrongly, or the limit lifted: the command shows it, and its turn does not count.
        note(`stopgate: ${worker} looks whether its usage limit is over already`);
        await requester.publish(`worker.${worker}.limit.cleared`, {});
        turn -= 1;
      }
      // The command begins again with what it was to do.
      next = null;
      continue;
    }
    if (isEnd) return decision;
    next = decision.nextPrompt ?? decision.reason;
    if (waitMs > 0) await sleep(waitMs, signal);
    if (signal.aborted) return 'aborted';
  }
  note(`stopgate: it has used its ${count(turns, 'turn')} and may not stop yet; --turns allows more`);
  return 'turns';
}

/**
 * A command without hooks says nothing while it runs, so the loop publishes heartbeats for it. One that the service does not
 * get is followed by the next. `end` resolves when none is under way: after the session's end, it would bring the worker back.
 */
function showLife(requester: Requester, worker: string, everyMs: number): { end(): Promise<void> } {
  const ending = new AbortController();
  const showing = (async () => {
    for (;;) {
      await sleep(everyMs, ending.signal);
      if (ending.signal.aborted) return;
      await requester.publish(`worker.${worker}.heartbeat.sent`, {}).catch(() => undefined);
    }
  })();
  return {
    end() {
      ending.abort();
      return showing;
    },
  };
}

/**
 * When the usage limit ends that has stopped the command; null: its last words are of none, or do not say. The limit and its
 * end stand on one line of the agent's own: a test that failed may print words of a limit too, in a report or quoted.
 */
export function limitEndOf(words: string, nowMs: number): string | null {
  for (const line of plainText(words).split('\n').toReversed()) {
    if (isQuoted(line) || !tellsOfLimit(line)) continue;
    const end = limitEndIn(line, nowMs);
    if (end !== null) return end;
  }
  return null;
}

/** A line of a diff, a quotation, a stack, a report of a test, or of source code. */
const isQuoted = (line: string): boolean =>
  /^\s*(?:[-+>|│✓✗×✘●]|[\d:]+\s*[|│]|at\s|#|\/\/|\*|FAIL\b|PASS\b|ok\b|not ok\b|Expected\b|Received\b|E\s{2,})/.test(
    line,
  ) ||
  /\b(?:AssertionError|expect(?:ed)?\b|assert|toEqual|toBe)\b/.test(line) ||
  /^\s*(?:["'`](?!(?:message|error|details?)["'`]:)|(?:const|let|var|it|test|describe|return|throw|def|func)\b)/.test(
    line,
  );

/**
 * Waits with probes, which count nothing, as long as the answer is that one, and at most `maxMs`.
 * @returns whether the answer is another one
 */
export async function waitWhile(
  requester: Requester,
  { worker, signal }: Pick<Run, 'worker' | 'signal'>,
  isSame: (decision: Decision) => boolean,
  maxMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const untilMs = performance.now() + maxMs;
  for (;;) {
    await sleep(lookMs, signal);
    if (signal.aborted) return false;
    const found = await requester.request('probe', worker, {}, probeTimeoutMs).catch(() => null);
    if (found !== null && !isSame(found as Decision)) return true;
    if (performance.now() >= untilMs) return false;
  }
}

export const isComplete = ({ cause }: Decision): boolean => cause === 'complete' || cause === 'no-policy';

const joinPrompts = (task: string, next: string | null): string =>
  [task.trimEnd(), next ?? ''].filter((text) => text !== '').join('\n\n');

function specOf(
  { flags: { command }, io }: TurnsContext,
  {
    worker,
    turn,
    prompt,
    env,
  }: { worker: string; turn: number; prompt: string; env: Readonly<Record<string, string>> },
) {
  const isInArguments = command.some((word) => word.includes('{prompt}'));
  const [file = '', ...rest] = command;
  return {
    run: [file, ...rest.map((word) => word.replaceAll('{prompt}', () => prompt))] as const,
    cwd: io.cwd,
    env: { ...environmentOf(io), ...env, STOPGATE_WORKER: worker, STOPGATE_TURN: String(turn) },
    input: isInArguments ? '' : prompt,
  };
}

/** Opens the screen on which the command prints. `endLine`: our own line comes next. */
function openScreen({ io, flags }: TurnsContext) {
  let isOpen = false;
  let errors = '';
  return {
    /** The end of what the command has written to stderr. */
    errors: () => errors,
    write(stream: 'stdout' | 'stderr', chunk: Buffer) {
      if (stream === 'stderr') errors = (errors + chunk.toString('utf8')).slice(-wordsMax);
      const isStderr = stream === 'stderr' || flags.json;
      (isStderr ? io.stderr : io.stdout).write(chunk);
      // A stdout that goes elsewhere stays as it is, and has nothing of our line.
      if (isStderr || io.isTTY) isOpen = chunk.at(-1) !== 0x0a;
    },
    /** A turn begins. */
    begin() {
      errors = '';
    },
    endLine() {
      if (isOpen) io.stderr.write('\n');
      isOpen = false;
    },
  };
}

const tooLong = { E2BIG: 'its arguments are too long; without {prompt} it gets the prompt on stdin' };

/** Describes how the command failed. Null: it ended well. */
function failureOf(end: GroupEnd): string | null {
  if (end.by === 'exit') return end.code === 0 ? null : `exit code ${end.code}`;
  return end.by === 'signal' ? `signal ${end.signal}` : end.by;
}

/** One attempt, asked again under its id while the service is away. @throws AppError what it says for good */
export async function ask(
  requester: Requester,
  {
    worker,
    what,
    signal,
    note,
  }: { readonly worker: string; readonly what: string } & Pick<Run, 'signal'> & Pick<TurnsContext, 'note'>,
  fields: { readonly output?: Turn['output']; readonly holdMs?: number },
): Promise<Decision> {
  const attempt = `${what.replaceAll(' ', '-')}-${randomBytes(6).toString('hex')}`;
  const body = { attempt, ...fields };
  return untilBack(
    () => requester.request('decide', worker, body, patienceMs) as Promise<Decision>,
    signal,
    ({ message }) => note(`stopgate: ${what} of ${worker} is not judged yet: ${message}`),
  );
}
