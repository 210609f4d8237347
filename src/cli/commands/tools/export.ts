/** export: the log of a fleet as JSON lines, whole or about one worker; or a worker's history as a page in a file. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { topicOf } from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { incidentOf, withSubAgents } from '../../../inspector/incident.ts';
import { incidentHtml } from '../../../inspector/incident-html.ts';
import { formatLogLine, toLogLine } from '../../../nats/log/log-line.ts';
import type { LogMessage } from '../../../nats/log/log-reader.ts';
import type { Requester } from '../../../nats/requester.ts';
import { describeSystemError } from '../../../system-error.ts';
import { defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, idOf, readsLog } from '../../option-values.ts';

/** The entries on which decisions about any worker depend. */
const ofEveryone: ReadonlySet<string> = new Set(['policy.set', 'rules.set']);

export const exportLog = defineCommand({
  args: {
    worker: option(
      'W',
      'only what concerns this worker: its entries, those of the tasks that it claimed, and the policies',
      idOf('worker'),
    ),
    html: option(
      'FILE',
      'write its history, with that of its sub-agents, as one page that opens without the service; - prints it',
    ),
    ...clientArgs,
  },
  details: [
    'Prints the log up to now, one JSON object per line, oldest first, as "stopgate replay" reads it. If retention has removed the beginning of the log, that part is in the archive, in the same form; a replay without it lacks the policies and plans set there, and may decide otherwise.',
    'With --worker, a replay of a whole log gives its decisions, unless they depended on tasks that other workers left in its queue.',
    'Exit code 1: the log has nothing about that worker.',
    readsLog,
  ],
  examples: [
    'stopgate export >log.jsonl',
    'stopgate export --worker w1 | stopgate replay -',
    'stopgate export --worker w1 --html w1.html',
  ],
  run: ({ flags, io, out, note }) => {
    const { worker = null } = flags;
    if (flags.html !== undefined && worker === null)
      throw new AppError('input.bad', '--html shows one worker: say which with --worker W');
    return withRequester(flags, io, async (requester, fleet) => {
      if (flags.html !== undefined && worker !== null) {
        const page = await readPage(requester, fleet, worker);
        if (flags.html === '-') {
          await out.write(page);
          return 0;
        }
        const path = resolve(io.cwd, flags.html);
        await writePage(path, page);
        if (flags.json) await out.json({ file: path });
        else await out.print(`wrote ${path}: open it in a browser`);
        return 0;
      }
      const concerns =
        worker === null ? () => true : createFilter(await readLinks(requester, fleet, worker), new Set([worker]));
      let isFirst = true;
      for await (const batch of (await requester.read()).batches) {
        const first = batch[0];
        if (isFirst && first !== undefined && first.seq > 1)
          note(`stopgate: the log of fleet ${fleet} begins at entry ${first.seq}; retention has removed those before`);
        isFirst = false;
        const lines = batch.filter(concerns).map((message) => `${formatLogLine(message)}\n`);
        await out.write(lines.join(''));
        if (out.closed.aborted) return 0;
      }
      return 0;
    });
  },
});

async function readPage(requester: Requester, fleet: string, worker: string): Promise<string> {
  const links = await readLinks(requester, fleet, worker);
  const concerns = createFilter(links, withSubAgents(links.parents, worker));
  const messages: LogMessage[] = [];
  for await (const batch of (await requester.read()).batches) messages.push(...batch.filter(concerns));
  return incidentHtml(incidentOf(fleet, worker, messages, Date.now()));
}

async function writePage(path: string, html: string): Promise<void> {
  try {
    await writeFile(path, html);
  } catch (cause) {
    throw new AppError('input.bad', `cannot write '${path}': ${describeSystemError(cause)}`, { cause });
  }
}

type Claim = { readonly worker: string; readonly task: string };
/** `parents`: of each worker that has one. */
type Links = { readonly parents: ReadonlyMap<string, string>; readonly claims: readonly Claim[] };

/** @throws AppError actor.unknown: the log has nothing about `wanted` */
async function readLinks(requester: Requester, fleet: string, wanted: string): Promise<Links> {
  const parents = new Map<string, string>();
  const claims: Claim[] = [];
  let isKnown = false;
  for await (const batch of (await requester.read()).batches)
    for (const message of batch) {
      const { entity, id: worker, type } = topicOf(message.subject);
      if (entity !== 'worker') continue;
      isKnown ||= worker === wanted;
      if (type !== 'worker.registered' && type !== 'task.claimed') continue;
      const { parent, task } = toLogLine(message).data as { parent?: unknown; task?: unknown };
      if (type === 'task.claimed' && typeof task === 'string') claims.push({ worker, task });
      if (type === 'worker.registered' && typeof parent === 'string') parents.set(worker, parent);
    }
  if (isKnown) return { parents, claims };
  throw new AppError('actor.unknown', `the log of fleet ${fleet} has no entry about worker ${wanted}`);
}

function createFilter({ claims }: Links, workers: ReadonlySet<string>): (message: LogMessage) => boolean {
  const tasks = new Set(claims.filter(({ worker }) => workers.has(worker)).map(({ task }) => task));
  return ({ subject }) => {
    const { entity, id, type } = topicOf(subject);
    if (entity === 'worker') return workers.has(id);
    return entity === 'task' ? tasks.has(id) : entity === 'fleet' && ofEveryone.has(type);
  };
}
