/** Collects settings and numbers of a NATS server and its streams, for support. Contains no messages. */
import { jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, openConnection } from '../connection.ts';

const discoverMs = 1_000;
const replicasMax = 100;

/** A part that cannot be read is `{ unknown: reason }`. @throws AppError service.unreachable, input.bad */
export async function readServerReport(options: Omit<ConnectionOptions, 'patient'>): Promise<object> {
  const nc = await openConnection({ ...options, patient: false });
  const orReason = async (read: () => Promise<unknown>) => read().catch((error: Error) => ({ unknown: error.message }));
  try {
    const { version, jetstream, max_payload, auth_required, tls_required, cluster } = nc.info ?? {};
    return {
      server: { version, jetstream, max_payload, auth_required, tls_required, cluster },
      roundTripMs: await orReason(() => nc.rtt()),
      streams: await orReason(async () => {
        const manager = await jetstreamManager(nc, { timeout: 2_000 });
        const found: object[] = [];
        for await (const { config, state, created, cluster: nodes } of manager.streams.list())
          if (/^STOPGATE[-_]/.test(config.name)) found.push({ config, state, created, cluster: nodes });
        return found;
      }),
      replicas: await orReason(async () => {
        const found: object[] = [];
        const replies = await nc.requestMany('$SRV.STATS.stopgate', '', {
          strategy: 'count',
          maxWait: discoverMs,
          maxMessages: replicasMax,
        });
        for await (const message of replies) {
          type Stats = { id: string; version: string; started: string; endpoints: { last_error?: string }[] };
          const { id, version: running, started, endpoints } = message.json<Stats>();
          // Error messages may quote input from an agent, so leave them out.
          const counted = endpoints.map(({ last_error: _, ...counts }) => counts);
          found.push({ id, version: running, started, endpoints: counted });
        }
        return found;
      }),
    };
  } finally {
    await nc.close();
  }
}
