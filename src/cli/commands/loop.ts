/** loop: runs an agent again, with the next prompt, until it may stop. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { formatDuration } from '../../../machines/values/time.ts';
import { findProgram } from '../../agents/setup/places.ts';
import { firstChars } from '../../agents/shared/text.ts';
import { AppError, errorCodes } from '../../errors.ts';
import type { Requester } from '../../nats/requester.ts';
import type { GroupEnd } from '../../runner/process-group.ts';
import { throwIfRefused } from '../../service/refusal.ts';
import { describeAnswer } from '../../terminal/answer.ts';
import { runTurn, type Turn } from '../agent-turn.ts';
import type { Flags } from '../argument-types.ts';
import { clientArgs } from '../client-args.ts';
import { type Context, defineCommand } from '../command.ts';
import { withRequester } from '../connection.ts';
import { readText } from '../input.ts';
import { readCount, readDuration, readId } from '../option-values.ts';
import { createTurnPauses, pause } from '../turn-pause.ts';

/** The cap of turns for policies without one: nobody wants more without having asked for it. */
const turnsDefault = 50;
const turnsMax = 1_000_000;
/** Checks may be slow, and a decision may be held. */
const patienceMs = 600_000;
/** A service that restarts is back in that time. */
const awayMsMax = 60_000;
const retryMs = 1_000;
/** The length of a prompt in the log, as for a person's prompt in an agent with hooks. The command gets all of it. */
const storedCharsMax = 2_000;
const viewTimeoutMs = 5_000;
const pauseDefaultMs = 500;

const args = {
  worker: { type: 'string', valueHint: 'W', description: 'the id of the worker (default: a new one)' },
  task: { type: 'string', valueHint: 'T', description: 'the existing task that it works on, which it claims first' },
  policy: { type: 'string', valueHint: 'P', description: 'the policy that it asks for' },
  prompt: { type: 'string', valueHint: 'TEXT', description: 'what to do (default: the command already knows)' },
  'prompt-file': {
    type: 'string',
    valueHint: 'FILE',
    description: 'the prompt from a file, which is read again for each turn, or from stdin (-)',
  },
  continue: {
    type: 'boolean',
    description: 'the command continues its own session: later turns get only the next prompt',
  },
  pause: {
    type: 'string',
    valueHint: 'DURATION',
    description:
      'how long to wait after a turn that ended at once, doubled after each one more, up to 30s (default: 500ms; 0: not at all)',
  },
  turns: { type: 'string', valueHint: 'N', description: `the largest number of turns (default: ${turnsDefault})` },
  ...clientArgs,
} as const;
type LoopContext = Context<Flags<typeof args>>;

export const loop = defineCommand({
  args,
  rest: 'command',
  details: [
    'Runs COMMAND, asks whether it may stop, and runs it again with the next prompt until it may. Use it for agents without hooks, or for a fresh session each turn.',
    'An argument {prompt} is replaced by the prompt; without one the command gets the prompt on stdin. From the second turn on, the next prompt is added below your own.',
    'With --json, decisions go to stdout, one per line, and the output of the command goes to stderr. Ctrl-C ends the command and everything it has started.',
    'Exit code 0: its work is complete. 1: it stopped without that (a cap, an escalation, no verdict), or its task could not be claimed. 3: the service did not answer, so nothing was judged.',
  ],
  examples: [
    `stopgate loop --prompt-file PROMPT.md -- claude -p`,
    `stopgate loop --task T-1 --prompt 'Make the tests pass' -- codex exec {prompt}`,
  ],
  run: async (context) => {
    const { flags, words, io, note } = context;
    if (words.length === 0)
      throw new AppError('input.bad', 'which command? Write it behind "--": stopgate loop -- COMMAND…');
    if (flags.prompt !== undefined && flags['prompt-file'] !== undefined)
      throw new AppError('input.bad', 'use either --prompt or --prompt-file');
    const turns = flags.turns === undefined ? turnsDefault : readCount('--turns', flags.turns, 1, turnsMax);
    const pauseMs = flags.pause === undefined ? pauseDefaultMs : readDuration('--pause', flags.pause);
    const worker = flags.worker === undefined ? freshId(io.cwd) : readId('worker', flags.worker);
    refuseUnknownProgram(words[0] as string, io);
    const readTask = openTask(context);
    await refuseEmpty(readTask, context);
    const signal = io.interrupt();
    return withRequester(flags, io, async (requester) => {
      await refuseUnknownTask(requester, flags.task);
      try {
        await register(requester, worker, context);
        return await takeTurns(requester, { worker, turns, pauseMs, signal, context, readTask });
      } finally {
        await requester
          .publish(`worker.${worker}.session.ended`, { reason: 'the loop ended' })
          .catch((error: Error) => {
            note(`stopgate: the end of worker ${worker} was not stored: ${error.message}`);
          });
      }
    });
  },
});

const freshId = (cwd: string): string =>
  `loop-${basename(cwd)
    .replaceAll(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 64)}-${randomBytes(3).toString('hex')}`;

/** @throws AppError input.bad: a variable or a file that is empty by mistake would cost turns */
async function refuseEmpty(readTask: () => Promise<string>, { flags, note }: LoopContext): Promise<void> {
  if (flags.prompt === undefined && flags['prompt-file'] === undefined) {
    note('stopgate: there is no --prompt and no --prompt-file, so the command must already know what to do');
    return;
  }
  if ((await readTask()).trim() !== '') return;
  const option = flags.prompt === undefined ? '--prompt-file' : '--prompt';
  throw new AppError('input.bad', `${option} is empty: write there what to do`);
}

/** A claim would create it, and a typing error is likelier. @throws AppError actor.unknown */
async function refuseUnknownTask(requester: Requester, task: string | undefined): Promise<void> {
  if (task === undefined) return;
  await requester.request('get', `task.${readId('task', task)}`, {}, viewTimeoutMs).catch((error: unknown) => {
    // A service that is away may be back when the turn has ended.
    if (!(error instanceof AppError && error.code === 'actor.unknown')) return;
    const create = `create it with: stopgate publish task ${task} task.created`;
    throw new AppError('actor.unknown', `${error.message}; "stopgate tasks" lists them. If it is new, ${create}`);
  });
}

/** @throws AppError entry.refused: its task is not to be had */
async function register(requester: Requester, worker: string, { flags, io, note }: LoopContext): Promise<void> {
  const policy = flags.policy === undefined ? {} : { policy: readId('policy', flags.policy) };
  const task = flags.task === undefined ? null : readId('task', flags.task);
  await requester.publish(`worker.${worker}.worker.registered`, { agent: 'loop', cwd: io.cwd, ...policy });
  const claim = task === null ? null : await requester.publish(`worker.${worker}.task.claimed`, { task });
  if (claim === null && flags.policy === undefined) return;
  // A service that is away may be back when the turn has ended.
  const view = (await requester.request('get', `worker.${worker}`, {}, viewTimeoutMs).catch(() => null)) as Pick<
    WorkerView,
    'refused' | 'policy'
  > | null;
  if (view === null) return;
  if (claim !== null) throwIfRefused(view, claim.seq);
  if (flags.policy === undefined || view.policy === flags.policy) return;
  const why = 'there is none of that name, or its task or "assign" names another';
  note(`stopgate: ${worker} gets the policy ${view.policy}, not ${flags.policy}: ${why}`);
}

type Run = {
  readonly worker: string;
  readonly turns: number;
  /** The first, after a turn that ended at once. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  readonly context: LoopContext;
  readonly readTask: () => Promise<string>;
};

async function takeTurns(
  requester: Requester,
  { worker, turns, pauseMs, signal, context, readTask }: Run,
): Promise<number> {
  const { flags, out, note } = context;
  const screen = openScreen(context);
  let next: string | null = null;
  const pauses = createTurnPauses(pauseMs);
  for (let turn = 1; turn <= turns; turn += 1) {
    const prompt: string = flags.continue && next !== null ? next : joinPrompts(await readTask(), next);
    // A person's prompt, which sets the count of retries back, is the first alone.
    if (turn === 1)
      await requester.publish(`worker.${worker}.prompt.submitted`, { text: firstChars(prompt, storedCharsMax) });
    else await requester.publish(`worker.${worker}.heartbeat.sent`, {});
    const startedMs = performance.now();
    const ran = await runTurn({ ...specOf(context, { worker, turn, prompt }), onOutput: screen.write }, signal);
    screen.endLine();
    const turnMs = performance.now() - startedMs;
    if (signal.aborted) return 130;
    refuseWhatCannotRun(ran.end, context.words[0] as string);
    const failed = failureOf(ran.end);
    const decision = await ask(requester, { worker, turn, output: ran.output, failed, signal, note });
    if (flags.json) await out.json(decision);
    const how = failed === null ? '' : ` (${failed})`;
    const why = decision.reason && `: ${decision.reason}`;
    const waitMs = decision.decision === 'block' && turn < turns ? pauses.after(turnMs) : 0;
    const wait = waitMs > 0 ? `; it ended at once, so the next turn starts in ${formatDuration(waitMs)}` : '';
    note(`stopgate: turn ${turn} of ${worker}${how}: ${describeAnswer(decision)}${why}${wait}`);
    if (decision.decision === 'allow') return decision.action === 'complete' && isComplete(decision) ? 0 : 1;
    next = decision.nextPrompt ?? decision.reason;
    if (waitMs > 0) await pause(waitMs, signal);
    if (signal.aborted) return 130;
  }
  note(`stopgate: it has used its ${turns} turns and may not stop yet; --turns allows more`);
  return 1;
}

const isComplete = ({ cause }: Decision): boolean => cause === 'complete' || cause === 'no-policy';

/** Reads what to do: a file again for each turn, stdin once. */
function openTask({ flags, io }: LoopContext): () => Promise<string> {
  const { prompt = '', 'prompt-file': file } = flags;
  let kept = file === undefined ? prompt : null;
  return async () => {
    if (kept !== null) return kept;
    const text = await readText(file as string, io);
    if (file === '-') kept = text;
    return text;
  };
}

const joinPrompts = (task: string, next: string | null): string =>
  [task.trimEnd(), next ?? ''].filter((text) => text !== '').join('\n\n');

function specOf(
  { words, io }: LoopContext,
  { worker, turn, prompt }: { worker: string; turn: number; prompt: string },
) {
  const isInArguments = words.some((word) => word.includes('{prompt}'));
  const [file = '', ...rest] = words;
  const inherited = Object.entries(io.env).filter((it): it is [string, string] => it[1] !== undefined);
  return {
    run: [file, ...rest.map((word) => word.replaceAll('{prompt}', () => prompt))] as const,
    cwd: io.cwd,
    env: { ...Object.fromEntries(inherited), STOPGATE_WORKER: worker, STOPGATE_TURN: String(turn) },
    input: isInArguments ? '' : prompt,
  };
}

/** Opens the screen on which the command prints. `endLine`: our own line comes next. */
function openScreen({ io, flags }: LoopContext) {
  let isOpen = false;
  return {
    write(stream: 'stdout' | 'stderr', chunk: Buffer) {
      const isStderr = stream === 'stderr' || flags.json;
      (isStderr ? io.stderr : io.stdout).write(chunk);
      // A stdout that goes elsewhere stays as it is, and has nothing of our line.
      if (isStderr || io.isTTY) isOpen = chunk.at(-1) !== 0x0a;
    },
    endLine() {
      if (isOpen) io.stderr.write('\n');
      isOpen = false;
    },
  };
}

function refuseWhatCannotRun(end: GroupEnd, file: string): void {
  if (end.by !== 'refused') return;
  throw new AppError('input.bad', `cannot run '${file}': ${refusals[end.code] ?? end.code}`);
}

/** Before a worker is registered for it. @throws AppError input.bad */
function refuseUnknownProgram(file: string, io: LoopContext['io']): void {
  const isFound = file.includes('/') ? existsSync(resolve(io.cwd, file)) : file !== '' && findProgram(file, io.env);
  if (!isFound) throw new AppError('input.bad', `cannot run '${file}': ${refusals.ENOENT}`);
}

const refusals: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such command',
  EACCES: 'it is not a program that you may run',
  E2BIG: 'its arguments are too long; without {prompt} it gets the prompt on stdin',
};

/** Describes how the command failed. Null: it ended well. */
function failureOf(end: GroupEnd): string | null {
  if (end.by === 'exit') return end.code === 0 ? null : `exit code ${end.code}`;
  return end.by === 'signal' ? `signal ${end.signal}` : end.by;
}

type Attempt = {
  readonly worker: string;
  readonly turn: number;
  readonly output: Turn['output'];
  readonly failed: string | null;
  readonly signal: AbortSignal;
  readonly note: (line: string) => void;
};

/** One attempt, asked again under its id while the service is away. @throws AppError what it says for good */
async function ask(requester: Requester, given: Attempt): Promise<Decision> {
  const { worker, turn, output, failed, signal, note } = given;
  const attempt = `turn-${turn}-${randomBytes(6).toString('hex')}`;
  const body = { attempt, output, ...(failed === null ? {} : { stopReason: failed }) };
  for (const untilMs = performance.now() + awayMsMax; ; ) {
    try {
      return (await requester.request('decide', worker, body, patienceMs)) as Decision;
    } catch (error) {
      const mayCome = error instanceof AppError && errorCodes[error.code].retry && !signal.aborted;
      if (!mayCome || performance.now() > untilMs) throw error;
      note(`stopgate: turn ${turn} of ${worker} is not judged yet: ${error.message}`);
      await pause(retryMs, signal);
    }
  }
}
