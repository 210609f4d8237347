/** The whole history of a worker, for a file that shows it without the service: its entries, and those of its sub-agents and tasks. */
import { type Fleet, isId, topicOf } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { formatLogLine, toLogLine } from '../nats/log/log-line.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import { subjectsOf } from './timeline.ts';

/** Reads the history of a worker as lines for `stopgate replay`. */
export async function readReplayLines(
  log: Pick<EventLog, 'range' | 'history'>,
  fleet: string,
  worker: string,
): Promise<string[]> {
  return (await readHistoryOf(log, fleet, worker)).map((message) => formatLogLine(message));
}

/**
 * Reads a worker's entries and what its decisions depend on, the policies and all tasks that it ever claimed, in the
 * log's order.
 */
async function readHistoryOf(
  log: Pick<EventLog, 'range' | 'history'>,
  fleet: string,
  worker: string,
): Promise<LogMessage[]> {
  const { firstSeq, lastSeq } = await log.range();
  const messages: LogMessage[] = [];
  const tasks = new Set<string>();
  const read = (subject: string) =>
    log.history({ fromSeq: firstSeq, toSeq: lastSeq, subject }, (message) => {
      messages.push(message);
      const { data } = toLogLine(message);
      if (topicOf(message.subject).type === 'task.claimed') tasks.add(String((data as { task?: unknown }).task));
    });
  for (const subject of subjectsOf(fleet, { entity: 'worker', id: worker })) await read(subject);
  await read(`stopgate.${fleet}.own.fleet.${fleet}.policy.set`);
  for (const task of [...tasks].filter(isId))
    for (const subject of subjectsOf(fleet, { entity: 'task', id: task })) await read(subject);
  return messages.sort((a, b) => a.seq - b.seq);
}

/** `entries`: in the order of the log; `text` is the payload as it came. */
export type IncidentFile = {
  readonly fleet: string;
  readonly worker: string;
  readonly exportedMs: number;
  readonly entries: readonly (readonly [seq: number, atMs: number, subject: string, text: string])[];
};

/** The most workers in a file; nobody reads a larger tree. */
const workersMax = 20;
/** The largest file, one that a mail or an issue takes and a browser opens at once. */
const bytesMax = 24 * 1024 * 1024;
const decoder = new TextDecoder();

/**
 * @param isShown whether a sub-agent may be in it: any worker may name any parent
 * @throws AppError input.bad: it is too large for a file
 */
export async function readIncident(
  log: Pick<EventLog, 'range' | 'history'>,
  fleet: Fleet,
  worker: string,
  isShown: (worker: string) => boolean,
  exportedMs: number,
): Promise<IncidentFile> {
  const found = new Map<number, LogMessage>();
  const parents = [...fleet.workers]
    .filter(([id]) => isShown(id))
    .map(([id, { snapshot }]) => [id, snapshot.context.worker.parent] as const);
  for (const it of withSubAgents(parents, worker))
    for (const message of await readHistoryOf(log, fleet.name, it)) found.set(message.seq, message);
  return incidentOf(fleet.name, worker, [...found.values()], exportedMs);
}

/** @param messages all that belong to it, each once, in any order. @throws AppError input.bad: it is too large for a file */
export function incidentOf(
  fleet: string,
  worker: string,
  messages: readonly LogMessage[],
  exportedMs: number,
): IncidentFile {
  const bytes = messages.reduce((sum, { data }) => sum + data.length, 0);
  if (bytes > bytesMax)
    throw new AppError(
      'input.bad',
      `the history of ${worker} has ${bytes} bytes, more than the ${bytesMax} of a file; take its lines instead: stopgate export --worker ${worker}, or GET /api/${fleet}/history/${worker}.jsonl`,
    );
  return {
    fleet,
    worker,
    exportedMs,
    entries: messages
      .toSorted((a, b) => a.seq - b.seq)
      .map(({ seq, atMs, subject, data }) => [seq, atMs, subject, decoder.decode(data)]),
  };
}

/** Returns the worker and those below it. @param parents the parent of each worker */
export function withSubAgents(
  parents: Iterable<readonly [worker: string, parent: string | null]>,
  worker: string,
): ReadonlySet<string> {
  const named = new Set([worker]);
  const all = [...parents];
  // A set is walked to its end, what is added on the way included.
  for (const above of named)
    for (const [id, parent] of all) if (parent === above && named.size < workersMax) named.add(id);
  return named;
}
