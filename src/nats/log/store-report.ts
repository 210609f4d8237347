/** Reports the sizes of a fleet's streams and the newest dead letters. Changes nothing. */
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson } from '../../../machines/index.ts';
import { readNewest } from './log-range.ts';
import { deadLimits, deadName, infoOf, logName } from './stream-info.ts';

/** Times are in milliseconds since 1970, by the server's clock. */
type StreamUse = {
  readonly name: string;
  readonly holds: 'log' | 'dead letters' | 'snapshots' | 'older snapshots';
  readonly messages: number;
  readonly bytes: number;
  /** Null if the stream has no limit. */
  readonly bytesMax: number | null;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Null if the stream is empty. */
  readonly firstMs: number | null;
  /** Null if the stream is empty. */
  readonly lastMs: number | null;
  /** Number of replicas. */
  readonly copies: number;
  /** Null if the stream is not replicated or has no leader now. */
  readonly leader: string | null;
};

/** A refused entry and the reason (protocol.md §9). */
export type DeadLetter = z.infer<typeof deadLetterSchema>;
const deadLetterSchema = z.object({
  seq: z.number(),
  at: z.string(),
  subject: z.string(),
  code: z.string(),
  message: z.string(),
  data: z.string(),
});

export type StoreReport = {
  readonly streams: readonly StreamUse[];
  /** Size of all streams of the account; `bytesMax` is null without a limit. Null if the server does not say. */
  readonly account: { readonly bytes: number; readonly bytesMax: number | null } | null;
  /** `newest` is in descending order. */
  readonly dead: { readonly count: number; readonly max: number; readonly newest: readonly DeadLetter[] };
};

/** The page shows this many. The others are in the stream. */
const deadShownMax = 20;
/** The page waits for the report and soon requests the next one. */
const timeoutMs = 1_500;

/** @throws AppError log.unavailable, and NATS errors */
export type ReadStore = () => Promise<StoreReport>;

export function createStoreReader(nc: NatsConnection, fleet: string): ReadStore {
  const held = [
    [logName(fleet), 'log'],
    [deadName(fleet), 'dead letters'],
    [`OBJ_STOPGATE-SNAPSHOTS_${fleet}`, 'snapshots'],
    [`OBJ_STOPGATE-PAST_${fleet}`, 'older snapshots'],
  ] as const;
  let dead: { readonly lastSeq: number; readonly newest: readonly DeadLetter[] } = { lastSeq: 0, newest: [] };
  const readDead = async (lastSeq: number) => {
    // Dead letters never change, so each is read only once.
    if (lastSeq !== dead.lastSeq) {
      const newest = await readNewest(nc, deadName(fleet), `stopgate.${fleet}.dead.>`, deadShownMax);
      dead = { lastSeq, newest: newest.reverse().flatMap(({ data }) => parseDeadLetter(data)) };
    }
    return dead.newest;
  };
  return async () => {
    const manager = await jetstreamManager(nc, { timeout: timeoutMs, checkAPI: false });
    const [account, ...found] = await Promise.all([
      readAccount(manager),
      ...held.map(([name]) => infoOf(manager, name)),
    ]);
    const streams = found.flatMap((info, index) => (info === null ? [] : [useOf(info, held[index]?.[1] ?? 'log')]));
    const letters = streams.find(({ holds }) => holds === 'dead letters');
    return {
      streams,
      account,
      dead: {
        count: letters?.messages ?? 0,
        max: deadLimits.max_msgs,
        newest: letters === undefined || letters.messages === 0 ? [] : await readDead(letters.lastSeq),
      },
    };
  };
}

function useOf({ config, state, cluster }: StreamInfo, holds: StreamUse['holds']): StreamUse {
  const isEmpty = state.messages === 0;
  return {
    name: config.name,
    holds,
    messages: state.messages,
    bytes: state.bytes,
    bytesMax: config.max_bytes > 0 ? config.max_bytes : null,
    firstSeq: state.first_seq,
    lastSeq: state.last_seq,
    firstMs: isEmpty ? null : Date.parse(state.first_ts),
    lastMs: isEmpty ? null : Date.parse(state.last_ts),
    copies: config.num_replicas,
    leader: (config.num_replicas > 1 && cluster?.leader) || null,
  };
}

/** Returns null on any error, for example if permissions forbid the request. */
async function readAccount(manager: JetStreamManager): Promise<StoreReport['account']> {
  const info = await manager.getAccountInfo().catch(() => null);
  if (info === null) return null;
  const bytesMax = info.limits?.max_storage ?? -1;
  return { bytes: info.storage, bytesMax: bytesMax > 0 ? bytesMax : null };
}

/** Returns an empty list if the message is not a dead letter. */
export function parseDeadLetter(data: Uint8Array): DeadLetter[] {
  const read = readJson(new TextDecoder().decode(data));
  const parsed = deadLetterSchema.safeParse(read.ok ? read.value : null);
  return parsed.success ? [parsed.data] : [];
}
