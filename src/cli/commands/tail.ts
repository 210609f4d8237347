/** tail: the log as it grows. */
import { AppError } from '../../errors.ts';
import type { LogMessage } from '../../nats/log-reader.ts';
import { defineCommand, serviceArgs } from '../command.ts';
import { formatLogLine, placeOf, toLogLine } from '../entry-text.ts';
import { readCount, readId, withRequester } from '../service-call.ts';

export const tail = defineCommand({
  args: {
    last: { type: 'string', valueHint: 'N', description: 'begin with the newest N entries (default: 20)' },
    worker: { type: 'string', valueHint: 'W', description: 'show only what is about this worker, of those too' },
    ...serviceArgs,
  },
  details: [
    'Prints the newest entries of the log and then each new one, decisions included, until Ctrl-C. Times are UTC.',
    'With --json each line is one that "stopgate replay" and "stopgate publish -" read.',
    'Reading the log needs operator credentials, which are found by themselves for "stopgate dev".',
  ],
  examples: ['stopgate tail --worker w1', 'stopgate tail --last 1000 --json >log.jsonl'],
  run: async ({ flags, io, out }) => {
    const last = flags.last === undefined ? 20 : readCount('--last', flags.last, 0, 1_000_000_000);
    const only = flags.worker === undefined ? null : readId('worker', flags.worker);
    const signal = AbortSignal.any([io.interrupt(), out.closed]);
    let printed = Promise.resolve();
    const show = (message: LogMessage) => {
      const { entity, id } = placeOf(message.subject);
      if (only !== null && (entity !== 'worker' || id !== only)) return;
      const line = toLogLine(message);
      printed = printed.then(() =>
        flags.json ? out.json(line) : out.print(formatLogLine(line, out.colors, out.width())),
      );
    };
    await withRequester(flags, io, async (requester, fleet) => {
      await requester.follow({ last, signal }, show).catch((cause: unknown) => {
        if (cause instanceof AppError) throw cause;
        throw new AppError(
          'log.unavailable',
          `the log of fleet '${fleet}' cannot be read: ${(cause as Error).message}`,
          { cause },
        );
      });
      await printed;
      if (!signal.aborted) throw new AppError('service.unreachable', 'the connection to NATS was lost');
    });
    return 0;
  },
});
