/**
 * Reads a stream through a pull consumer, one window at a time. At most one window is in flight, so the server's
 * `max_pending` can be small. With a push consumer the server would allow 32 MiB in flight.
 */
import type { JetStreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { sizeOf } from '../message-headers.ts';

/**
 * An eighth of `max_pending` (accounts.ts). Holds about 3,500 entries, which take 30 ms to fold; requesting the next
 * window takes 0.3 ms.
 */
export const windowBytesMax = 1_048_576;
/** Minimum share of a reader if many share a connection. Any entry fits. */
export const windowBytesMin = 131_072;
/** Bounds the per-message cost of a window of very small entries. */
export const windowCountMax = 4_096;

/** The server deletes a consumer that is idle for this long, for example after its reader has crashed. */
const inactiveMs = 30_000;
/** Must be below `inactiveMs`, so that an idle reader renews its request and keeps its consumer. */
const expiresMs = 20_000;

export function addPullConsumer(manager: JetStreamManager, stream: string, fromSeq: number, subject?: string) {
  return manager.consumers.add(stream, {
    ...(subject === undefined ? {} : { filter_subject: subject }),
    deliver_policy: 'by_start_sequence',
    opt_start_seq: fromSeq,
    ack_policy: 'none',
    replay_policy: 'instant',
    max_deliver: 1,
    inactive_threshold: inactiveMs * 1_000_000,
    mem_storage: true,
    num_replicas: 1,
  });
}

/** Does not wait for the result: the server deletes an idle consumer anyway. */
export function dropConsumer(nc: NatsConnection, stream: string, name: string): void {
  if (!nc.isClosed()) nc.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`);
}

type WindowRequest = {
  readonly count: number;
  readonly bytes: number;
  /** Interval of heartbeats while there is nothing to send. Default: no heartbeats. */
  readonly heartbeatMs?: number | undefined;
};

export type Windows = {
  /** Requests the next window. Status messages of earlier windows are `old` from then on. */
  open(wanted: WindowRequest): void;
  /** Must be called for each entry. @returns whether it was the window's last one */
  onEntry(message: Msg): boolean;
  /** Reads the status in a message that is not an entry. */
  read(message: Msg): WindowStatus;
};

/**
 * `full`: the next entry does not fit. `expired`: the request timed out. `gone`: the consumer was deleted, or its node
 * no longer serves it. `old`: belongs to an earlier window.
 */
type WindowStatus = 'full' | 'expired' | 'heartbeat' | 'gone' | 'old';

/** @param inbox prefix of the reply subjects; window 3 uses `<inbox>.3` */
export function createWindows(nc: NatsConnection, stream: string, consumer: string, inbox: string): Windows {
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
  let number = 0;
  let left = { count: 0, bytes: 0 };
  let isEmpty = true;
  /**
   * `max_msg_size` keeps entries smaller than a window. If somebody raised it, larger entries are requested one by one.
   */
  let isNextTooLarge = false;
  return {
    open({ count, bytes, heartbeatMs }) {
      number += 1;
      left = isNextTooLarge ? { count: 1, bytes: Number.POSITIVE_INFINITY } : { count, bytes };
      const wanted = {
        batch: left.count,
        ...(isNextTooLarge ? {} : { max_bytes: bytes }),
        expires: expiresMs * 1_000_000,
        ...(heartbeatMs === undefined ? {} : { idle_heartbeat: heartbeatMs * 1_000_000 }),
      };
      isEmpty = true;
      isNextTooLarge = false;
      nc.publish(subject, JSON.stringify(wanted), { reply: `${inbox}.${number}` });
    },
    onEntry(message) {
      isEmpty = false;
      left.count -= 1;
      left.bytes -= bytesOf(message);
      return left.count === 0 || left.bytes <= 0;
    },
    read(message) {
      if (message.subject !== `${inbox}.${number}`) return 'old';
      const { code, description = '' } = message.headers ?? {};
      if (code === 100) return 'heartbeat';
      if (code === 408) return 'expired';
      if (code !== 409 || !/exceeds maxbytes/i.test(description)) return 'gone';
      isNextTooLarge = isEmpty;
      return 'full';
    },
  };
}

/** Bytes as the server counts them. An undercount is harmless: the server reports that the next entry does not fit. */
const bytesOf = (message: Msg): number => sizeOf(message) ?? message.data.length;
