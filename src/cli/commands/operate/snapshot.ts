/** snapshot: asks a service to take a snapshot of its fleet. */
import { AppError } from '../../../errors.ts';
import type { SnapshotTaken } from '../../../host/maintenance/snapshot-taker.ts';
import type { Requester } from '../../../nats/requester.ts';
import { formatCount } from '../../../terminal/text.ts';
import { defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, toTimeout } from '../../option-values.ts';

export const snapshot = defineCommand({
  args: {
    timeout: option('DURATION', 'how long to wait, e.g. 60s; a bare number is milliseconds (default: 60s)', toTimeout),
    ...clientArgs,
  },
  details: [
    'A snapshot is the state of a fleet, stored in the object store STOPGATE-SNAPSHOTS_<fleet> of the NATS server. A start continues from the newest one. The service takes snapshots automatically: every 10,000 entries (50,000 if they are slow), after five minutes with 1,000 new ones, and when it stops. The newest three are kept; some older ones, for time travel, are in STOPGATE-PAST_<fleet>.',
    'Needs operator credentials. Those of "stopgate dev" are found automatically.',
  ],
  examples: ['stopgate snapshot', 'stopgate snapshot --fleet main --json'],
  run: ({ flags, io, out }) =>
    withRequester(flags, io, async (requester, fleet) => {
      const timeoutMs = flags.timeout ?? 60_000;
      const taken = (await requester.request('snapshot', fleet, {}, timeoutMs).catch(async (error: unknown) => {
        if (await isServed(requester)) throw explainRefusal(fleet, error);
        throw error;
      })) as SnapshotTaken;
      const { seq, at, bytes, workers, tasks } = taken;
      if (flags.json) await out.json(taken);
      else
        await out.print(
          `snapshot of fleet ${fleet} at entry ${seq} (${at}): ${formatCount(workers, 'worker')}, ${formatCount(tasks, 'task')}, ${bytes} bytes`,
        );
      return 0;
    }),
});

/** Whether the service answers other requests. If it does, these credentials lack the permission. */
const isServed = (requester: Requester): Promise<boolean> =>
  requester.request('list', 'workers', { limit: 1 }, 5_000).then(
    () => true,
    () => false,
  );

const explainRefusal = (fleet: string, cause: unknown): unknown =>
  cause instanceof AppError && cause.code === 'service.unreachable'
    ? new AppError(
        'input.unauthorized',
        `these credentials may not take snapshots of fleet '${fleet}'; pass an operator's with --creds`,
        { cause },
      )
    : cause;
