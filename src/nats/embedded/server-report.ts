/**
 * Collects what a NATS server and its streams report about themselves, for support: numbers and settings, but no
 * messages.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, openConnection } from '../connection.ts';

const discoverMs = 1_000;
const replicasMax = 100;

/** Each part, or why it is not known. @throws AppError service.unreachable, input.bad */
export async function readServerReport(options: Omit<ConnectionOptions, 'patient'>): Promise<object> {
  const nc = await openConnection({ ...options, patient: false });
  const orWhy = async (read: () => Promise<unknown>) => read().catch((error: Error) => ({ unknown: error.message }));
  try {
    const { version, jetstream, max_payload, auth_required, tls_required, cluster } = nc.info ?? {};
    return {
      server: { version, jetstream, max_payload, auth_required, tls_required, cluster },
      roundTripMs: await orWhy(() => nc.rtt()),
      streams: await orWhy(async () => {
        const manager = await jetstreamManager(nc, { timeout: 2_000 });
        const found: object[] = [];
        for await (const { config, state, created, cluster: place } of manager.streams.list())
          if (/^STOPGATE[-_]/.test(config.name)) found.push({ config, state, created, cluster: place });
        return found;
      }),
      replicas: await orWhy(async () => {
        const found: object[] = [];
        const asked = await nc.requestMany('$SRV.STATS.stopgate', '', {
          strategy: 'count',
          maxWait: discoverMs,
          maxMessages: replicasMax,
        });
        for await (const message of asked) {
          type Stats = { id: string; version: string; started: string; endpoints: { last_error?: string }[] };
          const { id, version: running, started, endpoints } = message.json<Stats>();
          // The text of an error may quote what an agent has sent.
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
