/** export: the log of a fleet as JSON lines, whole or about one worker. */
import { topicOf } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { toLogLine } from '../../nats/log-line.ts';
import type { LogMessage } from '../../nats/log-reader.ts';
import type { Requester } from '../../nats/requester.ts';
import { clientArgs } from '../client-args.ts';
import { defineCommand } from '../command.ts';
import { withRequester } from '../connection.ts';
import { readId } from '../option-values.ts';

/** What decisions about any worker depend on. */
const ofEveryone: ReadonlySet<string> = new Set(['policy.set', 'rules.set']);

export const exportLog = defineCommand({
  args: {
    worker: {
      type: 'string',
      valueHint: 'W',
      description: 'only what concerns this worker: its entries, those of the tasks that it claimed, and the policies',
    },
    ...clientArgs,
  },
  details: [
    'Prints the log up to now, a JSON object per line, oldest first: what "stopgate replay" reads. A log whose beginning retention has removed is printed from there on; the rest is in the archive, in the same form.',
    'With --worker the decisions of a replay are those of the log, unless they depended on the tasks that others left in its queue.',
    'Exit code 1: the log has nothing about that worker.',
    'Reading the log needs operator credentials. Those of "stopgate dev" are found automatically.',
  ],
  examples: ['stopgate export >log.jsonl', 'stopgate export --worker w1 | stopgate replay -'],
  run: ({ flags, io, out, note }) => {
    const worker = flags.worker === undefined ? null : readId('worker', flags.worker);
    return withRequester(flags, io, async (requester, fleet) => {
      const concerns = worker === null ? () => true : await createFilter(requester, worker);
      let isFirst = true;
      let isKnown = worker === null;
      for await (const batch of (await requester.read()).batches) {
        const first = batch[0];
        if (isFirst && first !== undefined && first.seq > 1)
          note(`stopgate: the log of fleet ${fleet} begins at entry ${first.seq}; retention has removed those before`);
        isFirst = false;
        isKnown ||= batch.some(({ subject }) => isAbout(worker as string, subject));
        const lines = batch.filter(concerns).map((message) => `${JSON.stringify(toLogLine(message))}\n`);
        await out.write(lines.join(''));
        if (out.closed.aborted) return 0;
      }
      if (!isKnown)
        throw new AppError('actor.unknown', `the log of fleet ${fleet} has no entry about worker ${worker}`);
      return 0;
    });
  },
});

function isAbout(worker: string, subject: string): boolean {
  const { entity, id } = topicOf(subject);
  return entity === 'worker' && id === worker;
}

async function createFilter(requester: Requester, worker: string): Promise<(message: LogMessage) => boolean> {
  const tasks = new Set<string>();
  for await (const batch of (await requester.read()).batches)
    for (const message of batch) {
      const { entity, id, type } = topicOf(message.subject);
      if (entity !== 'worker' || id !== worker || type !== 'task.claimed') continue;
      const { task } = toLogLine(message).data as { task?: unknown };
      if (typeof task === 'string') tasks.add(task);
    }
  return ({ subject }) => {
    const { entity, id, type } = topicOf(subject);
    if (entity === 'worker') return id === worker;
    return entity === 'task' ? tasks.has(id) : entity === 'fleet' && ofEveryone.has(type);
  };
}
