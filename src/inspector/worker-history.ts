/** Exports the history of a worker for `stopgate replay`. */
import { isId, topicOf } from '../../machines/index.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { formatLogLine, toLogLine } from '../nats/log/log-line.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import { subjectsOf } from './timeline.ts';

/**
 * Reads a worker's entries and everything its decisions depend on (policies, rules versions and every task it claimed),
 * in log order.
 */
export async function readReplayLines(
  log: Pick<EventLog, 'range' | 'history'>,
  fleet: string,
  worker: string,
): Promise<string[]> {
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
  for (const type of ['policy.set', 'rules.set']) await read(`stopgate.${fleet}.own.fleet.${fleet}.${type}`);
  for (const task of [...tasks].filter(isId))
    for (const subject of subjectsOf(fleet, { entity: 'task', id: task })) await read(subject);
  return messages.sort((a, b) => a.seq - b.seq).map((message) => formatLogLine(message));
}
