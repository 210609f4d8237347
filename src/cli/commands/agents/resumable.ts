/** resumable: agents that a usage limit has stopped, once it is over, and the commands that resume them. */
import { existsSync } from 'node:fs';
import { formatIsoTime, type WorkerView } from '../../../../machines/index.ts';
import { resumeArguments, resumeCommand } from '../../../agents/index.ts';
import { findProgram } from '../../../agents/setup/places.ts';
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

const promptDefault = 'The usage limit is over. Go on where you stopped.';
const concurrencyDefault = 2;
/** Each is an agent with a model behind it. */
const concurrencyMax = 64;

const args = {
  run: flag('run the commands of the sessions that are on this machine, once each'),
  prompt: option('TEXT', `what the agents are told (default: "${promptDefault}")`),
  concurrency: option(
    'N',
    `with --run: how many run at the same time (default: ${concurrencyDefault})`,
    countFrom(1, concurrencyMax),
  ),
  ...clientArgs,
} as const;
type ResumableContext = Context<Flags<typeof args>>;

/** `notHere`: why its command cannot run on this machine; null: it can. */
type Resumable = {
  readonly worker: string;
  readonly agent: string | null;
  readonly cwd: string | null;
  readonly scope: string | null;
  /** When the limit ended; null: it was ended by hand or by another worker. */
  readonly endedAt: string | null;
  readonly command: string;
  readonly notHere: string | null;
};
/** `seq`: the entry of the limit. */
type Found = Resumable & { readonly seq: number; readonly view: WorkerView };

export const resumable = defineCommand({
  args,
  details: [
    'Lists the workers that reported a usage limit, that have not worked since, and whose limit is over, with the command that resumes the session of each, for agents that have one. Their sessions are on the machine, and in the folder, in which they began.',
    'With --run, the commands of the sessions whose folder and program are here run without a terminal, a few at the same time, and their output goes to stderr. A session is resumed once, on however many machines this runs. Ctrl-C ends them all.',
    `${readsLog} Exit code with --run: 1 if a command failed.`,
  ],
  examples: [
    'stopgate resumable',
    'stopgate resumable --run',
    'stopgate resumable --run --concurrency 1 --prompt "Go on"',
  ],
  run: async (context) => {
    const { flags, io, out } = context;
    if (!flags.run && flags.concurrency !== undefined)
      throw new AppError('input.bad', '--concurrency is for --run: it says how many commands run at the same time');
    const { prompt = promptDefault, concurrency: most = concurrencyDefault } = flags;
    return withRequester(flags, io, async (requester, fleet) => {
      const found = await findResumable(requester, prompt, io);
      if (flags.run) return runAll(found, prompt, most, requester, context);
      if (flags.json) await out.json(found.map(toJson));
      else if (found.length === 0)
        await out.print(`No agent of fleet '${fleet}' has stopped at a usage limit that is over.`);
      else {
        await out.print(...formatTable(headings, found.map(cellsOf), out.width()));
        // A table would cut them, and they are there to be copied.
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
const toJson = ({ seq: _, view: __, ...it }: Found): Resumable => it;

// --- which they are -----------------------------------------------------------------------------------------------

/** In the order in which their limits were reported. */
async function findResumable(requester: Requester, prompt: string, io: Pick<Io, 'cwd' | 'env'>): Promise<Found[]> {
  const limits = await readLimits(requester);
  if (limits.size === 0) return [];
  const wanted = { wanted: {}, most: Number.POSITIVE_INFINITY, timeoutMs: timeoutMsDefault };
  const views = new Map((await readAll<WorkerView>(requester, 'worker', wanted)).map((view) => [view.worker, view]));
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

/** The newest limit of each worker. */
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

/** Far more than the end of a session and the last reports of its usage. */
const entriesMax = 500;
const work: ReadonlySet<string> = new Set([
  'worker.registered',
  'prompt.submitted',
  'tool.started',
  'tool.used',
  'plan.updated',
  'step.updated',
  'task.claimed',
]);

/**
 * The prompt of a resumed session shows that it works again; before it comes, whoever resumes it has left a note. A stop
 * that was allowed because of the limit is no work.
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
    return isStop || work.has(entry.type) || resumedBy(message) === seq;
  });
}

/** The limit, by its entry, at whose end somebody resumed the session with this note; undefined: it is no such note. */
const resumedBy = ({ data }: LogMessage): unknown =>
  (tryJson(decoder.decode(data)) as { readonly resumes?: unknown } | null | undefined)?.resumes;

/** A session is where it began: its agent keeps it there. */
function whyNotHere({ cwd, agent }: WorkerView, { env }: Pick<Io, 'cwd' | 'env'>): string | null {
  if (cwd !== null && !existsSync(cwd)) return 'not on this machine';
  const [program = ''] = resumeArguments({ worker: 'w', agent, parent: null }, '') ?? [];
  return findProgram(program, env) === null ? `${program} is not on PATH` : null;
}

// --- resuming them ------------------------------------------------------------------------------------------------

/** @returns the exit code */
async function runAll(
  found: readonly Found[],
  prompt: string,
  most: number,
  requester: Requester,
  { io, note, flags, out }: ResumableContext,
): Promise<number> {
  const signal = io.interrupt();
  for (const { worker, notHere } of found) if (notHere !== null) note(`stopgate: ${worker} is left alone: ${notHere}`);
  const slots = createSemaphore(most);
  const codes = await Promise.all(
    found
      .filter(({ notHere }) => notHere === null)
      .map(async (it): Promise<number> => {
        if (!(await slots.acquire(signal))) return 130;
        try {
          if (!(await claim(requester, it))) {
            note(`stopgate: ${it.worker} is resumed elsewhere`);
            return 0;
          }
          note(`stopgate: ${it.worker} goes on: ${it.command}`);
          const { end } = await runTurn(
            {
              run: resumeArguments(it.view, prompt) as unknown as readonly [string, ...string[]],
              cwd: it.cwd ?? io.cwd,
              env: environmentOf(io),
              input: '',
              onOutput: (_stream, chunk) => void io.stderr.write(chunk),
            },
            signal,
          );
          const code = end.by === 'exit' ? end.code : null;
          if (flags.json) await out.json({ worker: it.worker, exitCode: code });
          note(
            `stopgate: ${it.worker} ended${code === 0 ? '' : ` with ${code === null ? end.by : `exit code ${code}`}`}`,
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
 * The log stores one entry of an id within two minutes, and whoever looks later finds it: so one of all machines resumes the
 * session. False: another does.
 */
async function claim(requester: Requester, { worker, seq, view }: Found): Promise<boolean> {
  // It may have waited long for its place here.
  if (await hasWorkedSince(requester, view, seq)) return false;
  const { duplicate } = await requester.publish(
    `worker.${worker}.heartbeat.sent`,
    { resumes: seq },
    `${worker}:resume:${seq}`,
  );
  return !duplicate;
}
