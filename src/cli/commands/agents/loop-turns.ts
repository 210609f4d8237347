/** The turns of `stopgate loop`: runs a command repeatedly, with the next prompt each time, until it may stop. */
import { randomBytes } from 'node:crypto';
import type { Decision } from '../../../../machines/index.ts';
import { formatDuration } from '../../../../machines/values/time.ts';
import { limitEndIn, mentionsLimit } from '../../../agents/shared/limit-end.ts';
import { firstChars, plainText } from '../../../agents/shared/text.ts';
import { createTurnPauses } from '../../../agents/shared/turn-pauses.ts';
import type { Requester } from '../../../nats/requester.ts';
import { cannotRun, type GroupEnd } from '../../../runner/process-group.ts';
import { describeAnswer, formatCount } from '../../../terminal/text.ts';
import { sleep } from '../../../timer.ts';
import type { Context } from '../../command.ts';
import { decisionTimeoutMs } from '../../option-values.ts';
import { environmentOf, retryWhileAway, runTurn, type Turn } from './agent-turn.ts';

/** Polling interval while waiting for a usage limit, background work or a person's answer. */
export const pollMs = 2_000;
const probeTimeoutMs = 10_000;
/**
 * Longest wait for a usage limit before trying again. Its end was parsed from text, and a person may have lifted it.
 */
const limitRecheckMs = 3_600_000;
/**
 * A worker that is silent for 2 minutes becomes stale and may lose its task, so three heartbeats may be late or lost.
 */
const heartbeatMs = 30_000;
/** How much of the end of the output is searched for a usage limit. */
const limitTextMax = 2_000;
/** How much of a prompt the log stores, as for the prompts of agents with hooks. The command gets all of it. */
const storedCharsMax = 2_000;

export type TurnsContext = Pick<
  Context<{ readonly command: readonly string[]; readonly json: boolean; readonly continue: boolean }>,
  'flags' | 'io' | 'out' | 'note'
>;
export type Run = {
  readonly worker: string;
  /** Maximum number of turns. */
  readonly turns: number;
  /** The first pause after a turn that ended at once. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  readonly context: TurnsContext;
  /** Called for each turn. */
  readonly readPrompt: () => Promise<string>;
  /** Additional variables for the command. */
  readonly env?: Readonly<Record<string, string>>;
  /** Additional fields for each attempt. */
  readonly fields?: object;
  /** Whether a block ends the turns too. Default: never. */
  readonly endsBy?: (decision: Decision) => boolean;
  /** Interval of the heartbeats while the command runs. Default: 30 s. */
  readonly heartbeatMs?: number;
};
/** The decision that ended the turns, `turns` if they were used up, or `aborted` after Ctrl-C. */
export type TurnsEnd = Decision | 'turns' | 'aborted';

export async function takeTurns(requester: Requester, run: Run): Promise<TurnsEnd> {
  const { worker, turns, pauseMs, signal, context, readPrompt, env = {}, fields = {}, endsBy = () => false } = run;
  const { flags, out, note } = context;
  const screen = openScreen(context);
  let next: string | null = null;
  const pauses = createTurnPauses(pauseMs);
  for (let turn = 1; turn <= turns; turn += 1) {
    const prompt: string = flags.continue && next !== null ? next : joinPrompts(await readPrompt(), next);
    // A user's prompt resets the retry count, so only the first turn publishes one.
    if (turn === 1)
      await requester.publish(`worker.${worker}.prompt.submitted`, { text: firstChars(prompt, storedCharsMax) });
    else await requester.publish(`worker.${worker}.heartbeat.sent`, {});
    const startedMs = performance.now();
    screen.begin();
    const heartbeats = startHeartbeats(requester, worker, run.heartbeatMs ?? heartbeatMs);
    const spec = { ...specOf(context, { worker, turn, prompt, env }), onOutput: screen.write };
    const ran = await runTurn(spec, signal).finally(heartbeats.end);
    screen.endLine();
    const turnMs = performance.now() - startedMs;
    if (signal.aborted) return 'aborted';
    if (ran.end.by === 'refused') throw cannotRun(context.flags.command[0] as string, ran.end.code, tooLong);
    const failed = failureOf(ran.end);
    // A command that was killed at its time limit was not stopped by a usage limit, whatever it printed.
    const mayBeLimit = failed !== null && ran.end.by === 'exit';
    const limitEnd = mayBeLimit
      ? limitEndOf(`${ran.output.slice(-limitTextMax)}\n${screen.errors()}`, Date.now())
      : null;
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
    const wait = waitMs > 0 ? `; the turn ended at once, so the next one starts in ${formatDuration(waitMs)}` : '';
    note(`stopgate: turn ${turn} of ${worker}${how}: ${describeAnswer(decision)}${why}${wait}`);
    const isLimited = decision.decision === 'allow' && decision.cause === 'limited' && turn < turns;
    if (isLimited) {
      const when = limitEnd === null ? '' : `, at ${limitEnd}`;
      note(`stopgate: ${worker} continues when its usage limit resets${when}`);
      const isOver = await waitWhile(requester, run, ({ cause }) => cause === 'limited', limitRecheckMs);
      if (signal.aborted) return 'aborted';
      if (!isOver) {
        // The limit may have been misread or lifted. The command will show it, and this turn does not count.
        note(`stopgate: ${worker} checks whether its usage limit has reset already`);
        await requester.publish(`worker.${worker}.limit.cleared`, {});
        turn -= 1;
      }
      // The command starts over with its original prompt.
      next = null;
      continue;
    }
    if (isEnd) return decision;
    next = decision.nextPrompt ?? decision.reason;
    if (waitMs > 0) await sleep(waitMs, signal);
    if (signal.aborted) return 'aborted';
  }
  note(
    `stopgate: the command may not stop yet, but has used its ${formatCount(turns, 'turn')}; allow more with --turns`,
  );
  return 'turns';
}

/**
 * Publishes heartbeats for a command without hooks while it runs. Failures are ignored, because the next heartbeat
 * makes up for a lost one. `end` resolves when none is in flight: a heartbeat after the session ended would revive the
 * worker.
 */
function startHeartbeats(requester: Requester, worker: string, everyMs: number): { end(): Promise<void> } {
  const ending = new AbortController();
  const publishing = (async () => {
    for (;;) {
      await sleep(everyMs, ending.signal);
      if (ending.signal.aborted) return;
      await requester.publish(`worker.${worker}.heartbeat.sent`, {}).catch(() => undefined);
    }
  })();
  return {
    end() {
      ending.abort();
      return publishing;
    },
  };
}

/**
 * Returns when the usage limit that stopped the command ends, or null if the output names no limit or no end. One line
 * of the agent's own text must name both, because the report of a failed test may mention a limit too.
 */
export function limitEndOf(output: string, nowMs: number): string | null {
  for (const line of plainText(output).split('\n').toReversed()) {
    if (isQuoted(line) || !mentionsLimit(line)) continue;
    const end = limitEndIn(line, nowMs);
    if (end !== null) return end;
  }
  return null;
}

/** Whether a line is part of a diff, a quotation, a stack, a test report or source code. */
const isQuoted = (line: string): boolean =>
  /^\s*(?:[-+>|│✓✗×✘●]|[\d:]+\s*[|│]|at\s|#|\/\/|\*|FAIL\b|PASS\b|ok\b|not ok\b|Expected\b|Received\b|E\s{2,})/.test(
    line,
  ) ||
  /\b(?:AssertionError|expect(?:ed)?\b|assert|toEqual|toBe)\b/.test(line) ||
  /^\s*(?:["'`](?!(?:message|error|details?)["'`]:)|(?:const|let|var|it|test|describe|return|throw|def|func)\b)/.test(
    line,
  );

/**
 * Probes, which is not counted, until `isSame` no longer holds for the decision.
 * @returns false if it still holds after `maxMs`, or on Ctrl-C
 */
export async function waitWhile(
  requester: Requester,
  { worker, signal }: Pick<Run, 'worker' | 'signal'>,
  isSame: (decision: Decision) => boolean,
  maxMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const untilMs = performance.now() + maxMs;
  for (;;) {
    await sleep(pollMs, signal);
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

/** Passes the command's output on to the terminal. `endLine` ends its unfinished line before we print our own. */
function openScreen({ io, flags }: TurnsContext) {
  let isOpen = false;
  let errors = '';
  return {
    /** The end of what this turn's command wrote to stderr. */
    errors: () => errors,
    write(stream: 'stdout' | 'stderr', chunk: Buffer) {
      if (stream === 'stderr') errors = (errors + chunk.toString('utf8')).slice(-limitTextMax);
      const isStderr = stream === 'stderr' || flags.json;
      (isStderr ? io.stderr : io.stdout).write(chunk);
      // A piped stdout is not shown on the terminal, so it leaves no unfinished line there.
      if (isStderr || io.isTTY) isOpen = chunk.at(-1) !== 0x0a;
    },
    /** Forgets the errors of the last turn. */
    begin() {
      errors = '';
    },
    endLine() {
      if (isOpen) io.stderr.write('\n');
      isOpen = false;
    },
  };
}

const tooLong = { E2BIG: 'its arguments are too long; remove {prompt} to get the prompt on stdin' };

/** Describes how the command failed, or returns null if it exited with 0. */
function failureOf(end: GroupEnd): string | null {
  if (end.by === 'exit') return end.code === 0 ? null : `exit code ${end.code}`;
  return end.by === 'signal' ? `signal ${end.signal}` : end.by;
}

/** Requests one decision. Repeats it with the same attempt id while the service is unreachable. @throws AppError */
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
  return retryWhileAway(
    () => requester.request('decide', worker, body, decisionTimeoutMs) as Promise<Decision>,
    signal,
    ({ message }) => note(`stopgate: ${what} of ${worker} is not judged yet: ${message}`),
  );
}
