/** resumable: lists agents whose usage limit has reset, with the commands that resume them, and runs those. */
import { existsSync } from 'node:fs';
import { formatIsoTime, type WorkerView } from '../../../../machines/index.ts';
import { resumeArguments, resumeCommand } from '../../../agents/index.ts';
import { findProgram } from '../../../agents/setup/local-context.ts';
import { createSemaphore } from '../../../concurrency/semaphore.ts';
import { AppError } from '../../../errors.ts';
import type { LogMessage } from '../../../nats/log/log-reader.ts';
import type { Requester } from '../../../nats/requester.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { formatTable } from '../../../terminal/table.ts';
import { clean } from '../../../terminal/text.ts';
import { tryJson } from '../../../text/json-text.ts';
import { type Context, defineCommand, type Flags, flag, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { readAll } from '../../listing/list.ts';
import { entryOf } from '../../log-source.ts';
import { clientArgs, countFrom, readsLog, timeoutMsDefault } from '../../option-values.ts';
import { formatAgo } from '../../text/state-text.ts';
import { environmentOf, runTurn } from './agent-turn.ts';

const promptDefault = 'The usage limit has reset. Continue where you stopped.';
const concurrencyDefault = 2;
/** Each one is an agent that uses a model. */
const concurrencyMax = 64;

const args = {
  run: flag('run the commands whose sessions are on this machine, once each'),
  prompt: option('TEXT', `the prompt for the agents (default: "${promptDefault}")`),
  concurrency: option(
    'N',
    `with --run: how many to run at the same time (default: ${concurrencyDefault})`,
    countFrom(1, concurrencyMax),
  ),
  ...clientArgs,
} as const;
type ResumableContext = Context<Flags<typeof args>>;

/** `notHere` says why the command cannot run on this machine, and is null if it can. */
type Resumable = {
  readonly worker: string;
  readonly agent: string | null;
  readonly cwd: string | null;
  readonly scope: string | null;
  /** When the limit ended; null if it was ended by hand or by another worker. */
  readonly endedAt: string | null;
  readonly command: string;
  readonly notHere: string | null;
};
/** `seq` is the entry that reported the limit. */
type Found = Resumable & { readonly seq: number; readonly view: WorkerView };

export const resumable = defineCommand({
  args,
  details: [
    'Lists the workers that reported a usage limit, have not worked since, and whose limit has reset, each with the command that resumes its session. Sessions are on the machine and in the folder in which they began.',
    'With --run it runs the commands whose folder and program are on this machine, without a terminal, a few at a time. Their output goes to stderr. A session is resumed only once, even if several machines run this. Ctrl-C ends all of them.',
    `${readsLog} Exit code with --run: 1 if a command failed.`,
  ],
  examples: [
    'stopgate resumable',
    'stopgate resumable --run',
    'stopgate resumable --run --concurrency 1 --prompt "Continue"',
  ],
  run: async (context) => {
    const { flags, io, out } = context;
    if (!flags.run && flags.concurrency !== undefined)
      throw new AppError('input.bad', '--concurrency limits the commands that --run starts; add --run');
    const { prompt = promptDefault, concurrency = concurrencyDefault } = flags;
    return withRequester(flags, io, async (requester, fleet) => {
      const found = await findResumable(requester, prompt, io);
      if (flags.run) return runAll(found, prompt, concurrency, requester, context);
      if (flags.json) await out.json(found.map(toJson));
      else if (found.length === 0) await out.print(`No agents in fleet '${fleet}' have a usage limit that has reset.`);
      else {
        await out.print(...formatTable(headings, found.map(cellsOf), out.width()));
        // The table might cut the commands, so they follow it.
        await out.print('', ...found.map(({ command }) => clean(command)));
      }
      return 0;
    });
  },
});

const headings = ['WORKER', 'AGENT', 'FOLDER', 'SCOPE', 'ENDED'];
const cellsOf = ({ worker, agent, cwd, scope, endedAt, notHere }: Found) => [
  { text: worker, isWhole: true },
  { text: agent ?? '-' },
  { text: `${cwd ?? '-'}${notHere === null ? '' : ` (${notHere})`}` },
  { text: scope ?? '-' },
  { text: endedAt === null ? '-' : formatAgo(endedAt) },
];
const toJson = ({ seq: _, view: __, ...rest }: Found): Resumable => rest;

// --- Finding the sessions -----------------------------------------------------------------------------------------

/** Sorted by the time of their limits. */
async function findResumable(requester: Requester, prompt: string, io: Pick<Io, 'cwd' | 'env'>): Promise<Found[]> {
  const limits = await readLimits(requester);
  if (limits.size === 0) return [];
  const all = { filter: {}, limit: Number.POSITIVE_INFINITY, timeoutMs: timeoutMsDefault };
  const views = new Map((await readAll<WorkerView>(requester, 'worker', all)).map((view) => [view.worker, view]));
  const found: Found[] = [];
  for (const [worker, { seq, scope, untilMs }] of limits) {
    const view = views.get(worker);
    if (view === undefined || view.presence === 'limited' || view.ended === 'retired') continue;
    const command = view.state === 'escalated' ? null : resumeCommand(view, prompt);
    if (command === null || (await hasWorkedSince(requester, view, seq))) continue;
    const { agent, cwd } = view;
    const endedAt = untilMs !== null && untilMs <= Date.now() ? formatIsoTime(untilMs) : null;
    found.push({ worker, agent, cwd, scope, endedAt, command, notHere: whyNotHere(view, io), seq, view });
  }
  return found;
}

type Limit = { readonly seq: number; readonly scope: string | null; readonly untilMs: number | null };

/** Reads the newest limit of each worker. */
async function readLimits(requester: Requester): Promise<Map<string, Limit>> {
  const limits = new Map<string, Limit>();
  const { batches } = await requester.read('worker.*.limit.reached');
  for await (const batch of batches)
    for (const message of batch) {
      const entry = entryOf(message);
      if (entry?.type !== 'limit.reached') continue;
      const { scope = null, until = null } = entry.data;
      limits.delete(entry.id);
      limits.set(entry.id, { seq: message.seq, scope, untilMs: until });
    }
  return limits;
}

const decoder = new TextDecoder();

/** More entries than follow a limit when a session ends, including its last usage reports. */
const entriesMax = 500;
const workTypes: ReadonlySet<string> = new Set([
  'worker.registered',
  'prompt.submitted',
  'tool.started',
  'tool.used',
  'plan.updated',
  'step.updated',
  'task.claimed',
]);

/**
 * Whether the worker has worked since entry `seq`, or somebody is resuming it: `claim` publishes a note before the
 * resumed session sends its prompt. A stop that was allowed because of the limit is not work.
 */
async function hasWorkedSince(
  requester: Requester,
  { worker, lastDecision }: WorkerView,
  seq: number,
): Promise<boolean> {
  const newest = await requester.readNewest(`worker.${worker}.>`, entriesMax);
  return newest.some((message) => {
    const entry = message.seq > seq ? entryOf(message) : null;
    if (entry === null) return false;
    const isStop = entry.type === 'stop.attempted' && lastDecision?.cause !== 'limited';
    return isStop || workTypes.has(entry.type) || resumedLimitOf(message) === seq;
  });
}

/** Returns the entry of the limit that a note of `claim` names, or undefined if the message is not such a note. */
const resumedLimitOf = ({ data }: LogMessage): unknown =>
  (tryJson(decoder.decode(data)) as { readonly resumes?: unknown } | null | undefined)?.resumes;

/** Returns why the session cannot be resumed here, or null. Agents keep sessions in the folder where they began. */
function whyNotHere({ cwd, agent }: WorkerView, { env }: Pick<Io, 'cwd' | 'env'>): string | null {
  if (cwd !== null && !existsSync(cwd)) return 'not on this machine';
  const [program = ''] = resumeArguments({ worker: 'w', agent, parent: null }, '') ?? [];
  return findProgram(program, env) === null ? `${program} is not on PATH` : null;
}

// --- Resuming the sessions ----------------------------------------------------------------------------------------

/** @returns the exit code */
async function runAll(
  found: readonly Found[],
  prompt: string,
  concurrency: number,
  requester: Requester,
  { io, note, flags, out }: ResumableContext,
): Promise<number> {
  const signal = io.interrupt();
  for (const { worker, notHere } of found) if (notHere !== null) note(`stopgate: ${worker} is skipped: ${notHere}`);
  const slots = createSemaphore(concurrency);
  const codes = await Promise.all(
    found
      .filter(({ notHere }) => notHere === null)
      .map(async (session): Promise<number> => {
        if (!(await slots.acquire(signal))) return 130;
        try {
          if (!(await claim(requester, session))) {
            note(`stopgate: ${session.worker} is already being resumed elsewhere`);
            return 0;
          }
          note(`stopgate: resuming ${session.worker}: ${session.command}`);
          const { end } = await runTurn(
            {
              run: resumeArguments(session.view, prompt) as unknown as readonly [string, ...string[]],
              cwd: session.cwd ?? io.cwd,
              env: environmentOf(io),
              input: '',
              onOutput: (_stream, chunk) => void io.stderr.write(chunk),
            },
            signal,
          );
          const code = end.by === 'exit' ? end.code : null;
          if (flags.json) await out.json({ worker: session.worker, exitCode: code });
          note(
            `stopgate: ${session.worker} ended${code === 0 ? '' : ` with ${code === null ? end.by : `exit code ${code}`}`}`,
          );
          return code === 0 ? 0 : 1;
        } finally {
          slots.release();
        }
      }),
  );
  if (signal.aborted) return 130;
  return codes.every((code) => code === 0) ? 0 : 1;
}

/**
 * Claims the session for this machine. The log stores a message id only once within two minutes, and later claims find
 * the stored note, so only one machine succeeds.
 */
async function claim(requester: Requester, { worker, seq, view }: Found): Promise<boolean> {
  // The session may have waited long for a free slot.
  if (await hasWorkedSince(requester, view, seq)) return false;
  const { duplicate } = await requester.publish(
    `worker.${worker}.heartbeat.sent`,
    { resumes: seq },
    `${worker}:resume:${seq}`,
  );
  return !duplicate;
}
