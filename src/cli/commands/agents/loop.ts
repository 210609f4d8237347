/** loop: runs an agent repeatedly, with the next prompt each time, until it may stop. */
import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { WorkerView } from '../../../../machines/index.ts';

import { firstPauseMs } from '../../../agents/shared/turn-pauses.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';

import { throwIfRefused } from '../../../service/refusal.ts';
import { formatCount } from '../../../terminal/text.ts';
import { type Context, commandLine, defineCommand, type Flags, flag, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { readText } from '../../input.ts';
import { clientArgs, countFrom, idOf, timeoutMsDefault, toDuration } from '../../option-values.ts';
import { refuseUnknownProgram } from './agent-turn.ts';
import { isComplete, type TurnsEnd, takeTurns } from './loop-turns.ts';
import { workThroughQueue } from './queue-loop.ts';

/** Limit for policies without a cap, so that nobody pays for more turns unasked. */
const turnsDefault = 50;
const turnsMax = 1_000_000;

const args = {
  command: commandLine('the command that runs one turn of the agent'),
  worker: option('W', 'the id of the worker (default: a new one)', idOf('worker')),
  task: option('T', 'claim this existing task and work on it', idOf('task')),
  queue: option('Q', 'work through this queue: claim its tasks one after the other', idOf('queue')),
  policy: option('P', 'the policy to request', idOf('policy')),
  prompt: option('TEXT', 'the prompt (default: none, if the command already knows what to do)'),
  'prompt-file': option('FILE', 'read the prompt from a file, again for each turn, or from stdin (-)'),
  continue: flag('the command continues its own session: later turns get only the next prompt'),
  pause: option(
    'DURATION',
    'how long to wait after a turn that ended at once; doubles each time, up to 30s (default: 500ms; 0: no pause)',
    toDuration,
  ),
  turns: option('N', `the maximum number of turns (default: ${turnsDefault})`, countFrom(1, turnsMax)),
  ...clientArgs,
} as const;
type LoopContext = Context<Flags<typeof args>>;

export const loop = defineCommand({
  args,
  details: [
    'Runs COMMAND, asks whether it may stop, and runs it again with the next prompt until it may. Use it for agents without hooks, or for a fresh session each turn.',
    'An argument {prompt} is replaced by the prompt. Without one, the command gets the prompt on stdin. From the second turn on, the next prompt follows your own.',
    'With --json, decisions go to stdout, one per line, and the output of the command goes to stderr. Ctrl-C ends the command and everything it started.',
    'With --queue it claims the next waiting task (whose id, title and steps precede your prompt), runs COMMAND until it may stop, and continues with the next task. Without a task it asks whether it may stop, waits for one, and ends when its policy allows (persistence). It also waits while a usage limit holds.',
    'Exit codes: 0 its work is complete (with --queue: each of its tasks); 1 it stopped without that (a cap, an escalation, no verdict), or its task could not be claimed; 3 the service did not answer, so nothing was judged; 130 Ctrl-C.',
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
      throw new AppError('input.bad', 'no command given; write it after "--": stopgate loop -- COMMAND…');
    if (flags.queue !== undefined && flags.task !== undefined)
      throw new AppError('input.bad', '--task and --queue cannot be used together; use one of them');
    if (flags.prompt !== undefined && flags['prompt-file'] !== undefined)
      throw new AppError('input.bad', '--prompt and --prompt-file cannot be used together; use one of them');
    const { turns = turnsDefault, pause: pauseMs = firstPauseMs, worker = freshId(io.cwd) } = flags;
    refuseUnknownProgram(program, io);
    const readPrompt = createPromptReader(context);
    await refuseEmptyPrompt(readPrompt, context);
    const signal = io.interrupt();
    return withRequester(flags, io, async (requester) => {
      await refuseUnknownTask(requester, flags.task);
      try {
        await register(requester, worker, context);
        const run = { worker, turns, pauseMs, signal, context };
        if (flags.queue !== undefined)
          return await workThroughQueue(requester, run, { queue: flags.queue, readPrompt });
        const end = await takeTurns(requester, { ...run, readPrompt });
        if (typeof end !== 'string' && end.cause === 'limited')
          note(
            `stopgate: the command has used its ${formatCount(turns, 'turn')}, and its usage limit holds; allow more with --turns`,
          );
        return exitCodeOf(end);
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

/**
 * An empty prompt is probably an unset variable or the wrong file, and would waste turns. @throws AppError input.bad
 */
async function refuseEmptyPrompt(readPrompt: () => Promise<string>, { flags, note }: LoopContext): Promise<void> {
  if (flags.prompt === undefined && flags['prompt-file'] === undefined) {
    if (flags.queue === undefined)
      note('stopgate: without --prompt or --prompt-file, the command must already know what to do');
    return;
  }
  if ((await readPrompt()).trim() !== '') return;
  const option = flags.prompt === undefined ? '--prompt-file' : '--prompt';
  throw new AppError('input.bad', `${option} is empty; write what the agent should do`);
}

/** A claim would create the task, but the id is more likely mistyped. @throws AppError actor.unknown */
async function refuseUnknownTask(requester: Requester, task: string | undefined): Promise<void> {
  if (task === undefined) return;
  await requester.request('get', `task.${task}`, {}, timeoutMsDefault).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'actor.unknown')) return;
    const create = `create it: stopgate publish task ${task} task.created`;
    throw new AppError(
      'actor.unknown',
      `${error.message}; "stopgate tasks" lists the known ones. If it is new, ${create}`,
    );
  });
}

/**
 * Registers the worker and claims its task. Fails before a turn is paid for if no service can judge it.
 * @throws AppError service.unreachable; entry.refused if the task cannot be claimed
 */
async function register(requester: Requester, worker: string, { flags, io, note }: LoopContext): Promise<void> {
  const { policy, queue, task } = flags;
  await requester.publish(`worker.${worker}.worker.registered`, { agent: 'loop', cwd: io.cwd, policy, queue });
  const claim = task === undefined ? null : await requester.publish(`worker.${worker}.task.claimed`, { task });
  const view = (await requester.request('get', `worker.${worker}`, {}, timeoutMsDefault)) as Pick<
    WorkerView,
    'refused' | 'policy'
  >;
  if (claim !== null) throwIfRefused(view, claim.seq);
  if (flags.policy === undefined || view.policy === flags.policy) return;
  const why = 'there is no such policy, or its task or "assign" names another';
  note(`stopgate: ${worker} gets policy ${view.policy}, not ${flags.policy}: ${why}`);
}

const exitCodeOf = (end: TurnsEnd): number => {
  if (end === 'aborted') return 130;
  return end !== 'turns' && end.action === 'complete' && isComplete(end) ? 0 : 1;
};

/** Returns a function that reads the prompt. It reads a file again for each turn, and stdin once. */
function createPromptReader({ flags, io }: LoopContext): () => Promise<string> {
  const { prompt = '', 'prompt-file': file } = flags;
  let kept = file === undefined ? prompt : null;
  return async () => {
    if (kept !== null) return kept;
    const text = await readText(file as string, io);
    if (file === '-') kept = text;
    return text;
  };
}
