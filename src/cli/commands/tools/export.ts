/** export: prints the log of a fleet, or the part about one worker, as JSON lines. */
import { topicOf } from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { formatLogLine, toLogLine } from '../../../nats/log/log-line.ts';
import type { LogMessage } from '../../../nats/log/log-reader.ts';
import type { Requester } from '../../../nats/requester.ts';
import { findWorker } from '../../actor-id.ts';
import { defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, idOf, readsLog } from '../../option-values.ts';

/** Types of fleet entries on which all decisions depend. */
const fleetWideTypes: ReadonlySet<string> = new Set(['policy.set', 'rules.set']);

export const exportLog = defineCommand({
  args: {
    worker: option(
      'W',
      'only this worker: its entries, those of the tasks that it claimed, and the policies',
      idOf('worker'),
    ),
    ...clientArgs,
  },
  details: [
    'Prints the log up to now, one JSON object per line, oldest first, as input for "stopgate replay". If retention has removed the beginning of the log, that part is in the archive, in the same format. Without it, a replay lacks the policies and plans set there and may decide differently.',
    'With --worker, a replay makes the same decisions, unless they depended on tasks that other workers left in its queue.',
    'Exit code 1: the log has no entries about that worker.',
    readsLog,
  ],
  examples: ['stopgate export >log.jsonl', 'stopgate export --worker w1 | stopgate replay -'],
  run: ({ flags, io, out, note }) => {
    return withRequester(flags, io, async (requester, fleet) => {
      const worker = flags.worker === undefined ? null : await findWorker(flags.worker, { requester, fleet, note });
      const concerns =
        worker === null ? () => true : createFilter(worker, await readClaimedTasks(requester, fleet, worker));
      let isFirst = true;
      for await (const batch of (await requester.read()).batches) {
        const first = batch[0];
        if (isFirst && first !== undefined && first.seq > 1)
          note(
            `stopgate: the log of fleet ${fleet} begins at entry ${first.seq}; retention has removed the earlier entries`,
          );
        isFirst = false;
        const lines = batch.filter(concerns).map((message) => `${formatLogLine(message)}\n`);
        await out.write(lines.join(''));
        if (out.closed.aborted) return 0;
      }
      return 0;
    });
  },
});

/** @throws AppError actor.unknown if the log has no entries about `worker` */
async function readClaimedTasks(requester: Requester, fleet: string, worker: string): Promise<ReadonlySet<string>> {
  const tasks = new Set<string>();
  let isKnown = false;
  for await (const batch of (await requester.read()).batches)
    for (const message of batch) {
      const { entity, id, type } = topicOf(message.subject);
      if (entity !== 'worker' || id !== worker) continue;
      isKnown = true;
      if (type !== 'task.claimed') continue;
      const { task } = toLogLine(message).data as { task?: unknown };
      if (typeof task === 'string') tasks.add(task);
    }
  if (isKnown) return tasks;
  throw new AppError('actor.unknown', `the log of fleet ${fleet} has no entries about worker ${worker}`);
}

function createFilter(worker: string, tasks: ReadonlySet<string>): (message: LogMessage) => boolean {
  return ({ subject }) => {
    const { entity, id, type } = topicOf(subject);
    if (entity === 'worker') return id === worker;
    return entity === 'task' ? tasks.has(id) : entity === 'fleet' && fleetWideTypes.has(type);
  };
}
