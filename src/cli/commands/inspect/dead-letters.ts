/** dead-letters: lists the entries that were not valid. The machines ignore them. */
import { parseDeadLetter } from '../../../nats/log/store-report.ts';
import { formatTable } from '../../../terminal/table.ts';
import { findWorker } from '../../actor-id.ts';
import { defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, countFrom, idOf, readsLog } from '../../option-values.ts';

export const deadLetters = defineCommand({
  args: {
    last: option('N', 'print the newest N (default: 20)', countFrom(1, 20_000)),
    worker: option('W', 'only those about this worker', idOf('worker')),
    ...clientArgs,
  },
  details: [
    'Prints the entries that somebody published and that were not valid when they arrived, oldest first, and why. The machines ignore them. A valid entry that changed nothing is listed by "stopgate worker W" instead.',
    'The newest 20,000 are kept. --json prints one per line (protocol.md §9).',
    readsLog,
  ],
  examples: ['stopgate dead-letters', 'stopgate dead-letters --worker w1 --json'],
  run: async ({ flags, io, out, note }) => {
    const { last = 20 } = flags;
    return withRequester(flags, io, async (requester, fleet) => {
      const worker =
        flags.worker === undefined ? undefined : await findWorker(flags.worker, { requester, fleet, note });
      const about = worker === undefined ? '>' : `worker.${worker}`;
      const messages = await requester.readDeadLetters(about, last);
      const letters = messages.flatMap(({ data }) => parseDeadLetter(data));
      if (flags.json) for (const letter of letters) await out.json(letter);
      else if (letters.length === 0)
        await out.print(`No dead letters in fleet '${fleet}'${worker === undefined ? '' : ` about worker ${worker}`}`);
      else {
        const prefix = `stopgate.${fleet}.`;
        const rows = letters.map(({ at, seq, subject, message }) => [
          { text: at, isWhole: true },
          { text: `#${seq}` },
          { text: subject.replace(prefix, '') },
          { text: message },
        ]);
        await out.print(...formatTable(['AT', 'SEQ', 'ENTRY', 'WHY'], rows, out.width()));
      }
      return 0;
    });
  },
});
