/** The history of a worker as a file for `stopgate replay`. */
import { isId, topicOf } from '../../machines/index.ts';
import type { EventLog } from '../nats/event-log.ts';
import { formatLogLine, toLogLine } from '../nats/log-line.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { subjectsOf } from './timeline.ts';

export async function readReplayLines(
  log: Pick<EventLog, 'range' | 'history'>,
  fleet: string,
  worker: string,
): Promise<string[]> {
  return (await readHistoryOf(log, fleet, worker)).map((message) => formatLogLine(message));
}

/** The worker's entries, and what its decisions depend on: the policies, and all tasks that it ever claimed. In the log's order. */
export async function readHistoryOf(
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
