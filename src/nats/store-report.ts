/**
 * What the store of NATS holds for a fleet: its streams with their sizes, the limit of the account, and the newest dead
 * letters. It asks for a few figures and never changes anything.
 */
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson } from '../../machines/index.ts';
import { readNewest } from './log-range.ts';
import { deadLimits, deadName, infoOf, logName } from './stream-info.ts';

/** Times are of the server's clock, in milliseconds since 1970. `leader`: of a cluster; null: there is none. */
export type StreamUse = {
  readonly name: string;
  readonly holds: 'log' | 'dead letters' | 'snapshots' | 'older snapshots';
  readonly messages: number;
  readonly bytes: number;
  /** Null: it has no limit of its own. */
  readonly bytesMax: number | null;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Null: it is empty. */
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  readonly copies: number;
  readonly leader: string | null;
};

/** What of an entry was refused, and why (protocol.md §9). */
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
  /** Of all streams of the account. `bytesMax` null: the account has no limit. Null: the server does not tell. */
  readonly account: { readonly bytes: number; readonly bytesMax: number | null } | null;
  /** The newest first. */
  readonly dead: { readonly count: number; readonly max: number; readonly newest: readonly DeadLetter[] };
};

/** A page shows no more; the others are in the stream. */
const deadShownMax = 20;
/** A page waits for it, and asks again soon. */
const timeoutMs = 1_500;

/** @throws AppError log.unavailable, and what NATS throws */
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
    // They are read once: nothing in that stream ever changes.
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
      ...{ streams, account },
      dead: {
        ...{ count: letters?.messages ?? 0, max: deadLimits.max_msgs },
        newest: letters === undefined || letters.messages === 0 ? [] : await readDead(letters.lastSeq),
      },
    };
  };
}

function useOf({ config, state, cluster }: StreamInfo, holds: StreamUse['holds']): StreamUse {
  const isEmpty = state.messages === 0;
  return {
    ...{ name: config.name, holds, messages: state.messages, bytes: state.bytes },
    bytesMax: config.max_bytes > 0 ? config.max_bytes : null,
    ...{ firstSeq: state.first_seq, lastSeq: state.last_seq },
    firstMs: isEmpty ? null : Date.parse(state.first_ts),
    lastMs: isEmpty ? null : Date.parse(state.last_ts),
    ...{ copies: config.num_replicas, leader: (config.num_replicas > 1 && cluster?.leader) || null },
  };
}

/** An account may be forbidden to ask about itself. */
async function readAccount(manager: JetStreamManager): Promise<StoreReport['account']> {
  const info = await manager.getAccountInfo().catch(() => null);
  if (info === null) return null;
  const bytesMax = info.limits?.max_storage ?? -1;
  return { bytes: info.storage, bytesMax: bytesMax > 0 ? bytesMax : null };
}

function parseDeadLetter(data: Uint8Array): DeadLetter[] {
  const read = readJson(new TextDecoder().decode(data));
  const parsed = deadLetterSchema.safeParse(read.ok ? read.value : null);
  return parsed.success ? [parsed.data] : [];
}
