/** loop: runs an agent again, with the next prompt, until it may stop. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { WorkerView } from '../../../../machines/index.ts';
import { findProgram } from '../../../agents/setup/places.ts';
import { firstPauseMs } from '../../../agents/shared/turn-pauses.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import { cannotRun } from '../../../runner/process-group.ts';
import { throwIfRefused } from '../../../service/refusal.ts';
import { count } from '../../../terminal/text.ts';
import { type Context, commandLine, defineCommand, type Flags, flag, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { readText } from '../../input.ts';
import { clientArgs, countFrom, idOf, toDuration } from '../../option-values.ts';
import { isComplete, type TurnsEnd, takeTurns } from './loop-turns.ts';
import { workThroughQueue } from './queue-loop.ts';

/** The cap of turns for policies without one: nobody wants more without having asked for it. */
const turnsDefault = 50;
const turnsMax = 1_000_000;
const viewTimeoutMs = 5_000;

const args = {
  command: commandLine('what runs a turn of the agent'),
  worker: option('W', 'the id of the worker (default: a new one)', idOf('worker')),
  task: option('T', 'the existing task that it works on, which it claims first', idOf('task')),
  queue: option(
    'Q',
    'work through this queue: claim the first task that waits, work on it, and go on with the next',
    idOf('queue'),
  ),
  policy: option('P', 'the policy that it asks for', idOf('policy')),
  prompt: option('TEXT', 'what to do (default: the command already knows)'),
  'prompt-file': option('FILE', 'the prompt from a file, which is read again for each turn, or from stdin (-)'),
  continue: flag('the command continues its own session: later turns get only the next prompt'),
  pause: option(
    'DURATION',
    'how long to wait after a turn that ended at once, doubled after each one more, up to 30s (default: 500ms; 0: not at all)',
    toDuration,
  ),
  turns: option('N', `the largest number of turns (default: ${turnsDefault})`, countFrom(1, turnsMax)),
  ...clientArgs,
} as const;
type LoopContext = Context<Flags<typeof args>>;

export const loop = defineCommand({
  args,
  details: [
    'Runs COMMAND, asks whether it may stop, and runs it again with the next prompt until it may. Use it for agents without hooks, or for a fresh session each turn.',
    'An argument {prompt} is replaced by the prompt; without one the command gets the prompt on stdin. From the second turn on, the next prompt is added below your own.',
    'With --json, decisions go to stdout, one per line, and the output of the command goes to stderr. Ctrl-C ends the command and everything it has started.',
    'With --queue it is the main loop of a worker: it claims the first task that waits (its id, title and steps come before your prompt), runs COMMAND until it may stop, and goes on with the next. Without a task it asks whether it may stop, is held until one comes, and ends when its policy lets it (persistence). While a usage limit holds, it waits.',
    'Exit code 0: its work is complete, with --queue each of its tasks. 1: it stopped without that (a cap, an escalation, no verdict), or its task could not be claimed. 3: the service did not answer, so nothing was judged. 130: Ctrl-C.',
  ],
  examples: [
    `stopgate loop --prompt-file PROMPT.md -- claude -p`,
    `stopgate loop --queue build -- claude -p`,
    `stopgate loop --task T-1 --prompt 'Make the tests pass' -- codex exec {prompt}`,
  ],
  run: async (context) => {
    const { flags, io, note } = context;
    const [program] = flags.command;
    if (program === undefined)
      throw new AppError('input.bad', 'which command? Write it behind "--": stopgate loop -- COMMAND…');
    if (flags.queue !== undefined && flags.task !== undefined)
      throw new AppError('input.bad', 'use either --task or --queue');
    if (flags.prompt !== undefined && flags['prompt-file'] !== undefined)
      throw new AppError('input.bad', 'use either --prompt or --prompt-file');
    const { turns = turnsDefault, pause: pauseMs = firstPauseMs, worker = freshId(io.cwd) } = flags;
    refuseUnknownProgram(program, io);
    const readTask = openTask(context);
    await refuseEmpty(readTask, context);
    const signal = io.interrupt();
    return withRequester(flags, io, async (requester) => {
      await refuseUnknownTask(requester, flags.task);
      try {
        await register(requester, worker, context);
        const run = { worker, turns, pauseMs, signal, context };
        if (flags.queue !== undefined)
          return await workThroughQueue(requester, run, { queue: flags.queue, readPrompt: readTask });
        const end = await takeTurns(requester, { ...run, readPrompt: readTask });
        if (typeof end !== 'string' && end.cause === 'limited')
          note(`stopgate: it has used its ${count(turns, 'turn')}, and its usage limit holds; --turns allows more`);
        return codeOf(end);
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
    if (flags.queue === undefined)
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
  await requester.request('get', `task.${task}`, {}, viewTimeoutMs).catch((error: unknown) => {
    // A service that is away may be back when the turn has ended.
    if (!(error instanceof AppError && error.code === 'actor.unknown')) return;
    const create = `create it with: stopgate publish task ${task} task.created`;
    throw new AppError('actor.unknown', `${error.message}; "stopgate tasks" lists them. If it is new, ${create}`);
  });
}

/** @throws AppError entry.refused: its task is not to be had */
async function register(requester: Requester, worker: string, { flags, io, note }: LoopContext): Promise<void> {
  const { policy, queue, task } = flags;
  await requester.publish(`worker.${worker}.worker.registered`, { agent: 'loop', cwd: io.cwd, policy, queue });
  const claim = task === undefined ? null : await requester.publish(`worker.${worker}.task.claimed`, { task });
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

const codeOf = (end: TurnsEnd): number => {
  if (end === 'aborted') return 130;
  return end !== 'turns' && end.action === 'complete' && isComplete(end) ? 0 : 1;
};

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

/** Before a worker is registered for it. @throws AppError input.bad */
function refuseUnknownProgram(file: string, io: LoopContext['io']): void {
  const isFound = file.includes('/') ? existsSync(resolve(io.cwd, file)) : file !== '' && findProgram(file, io.env);
  if (!isFound) throw cannotRun(file, 'ENOENT');
}
