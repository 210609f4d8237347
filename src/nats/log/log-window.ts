/**
 * Reads a stream by a pull consumer, one window after the other. What the server has sent and the reader has not read
 * is then never more than one window, so that `max_pending` of the server can be small. With a push consumer the server
 * itself would fix that at 32 MiB.
 */
import type { JetStreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { sizeOf } from '../message-headers.ts';

/**
 * An eighth of what may wait for a connection (`max_pending`, accounts.ts). It has some 3,500 entries, which take 30 ms to
 * fold; the request for the next window takes 0.3 ms.
 */
export const windowBytesMax = 1_048_576;
/** The share of one of many readers on a connection: any entry fits. */
export const windowBytesMin = 131_072;
/** With the smallest entries a window would have more, each with a cost of its own. */
export const windowCountMax = 4_096;

/** The consumer goes by itself if nobody asks it for anything: after a reader that has died. */
const inactiveMs = 30_000;
/** Below `inactiveMs`: an idle reader asks again, and keeps its consumer. */
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

/** Does not wait for it. The server drops it by itself too, a while later. */
export function dropConsumer(nc: NatsConnection, stream: string, name: string): void {
  if (!nc.isClosed()) nc.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`);
}

export type WindowRequest = {
  readonly count: number;
  readonly bytes: number;
  /** The server says this often that it is there while it has nothing to send. Default: never. */
  readonly heartbeatMs?: number | undefined;
};

export type Windows = {
  /** Asks for the next one. What is still heard of an earlier one is `old`. */
  open(wanted: WindowRequest): void;
  /** Must be called for each entry. @returns whether it was the last one of the window */
  onEntry(message: Msg): boolean;
  /** Reads what a message that is no entry says of the window. */
  read(message: Msg): WindowStatus;
};

/**
 * `full`: the next entry does not fit into it. `expired`: it was open for long enough. `beat`: the server is there. `gone`: the
 * consumer is not, or its node serves it no more.
 */
export type WindowStatus = 'full' | 'expired' | 'beat' | 'gone' | 'old';

/** @param inbox where entries arrive; the server writes about window 3 at `<inbox>.3` */
export function createWindows(nc: NatsConnection, stream: string, consumer: string, inbox: string): Windows {
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
  let number = 0;
  let left = { count: 0, bytes: 0 };
  let isEmpty = true;
  /** `max_msg_size` keeps entries below a window. If somebody raised it, a larger entry is requested by itself. */
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
      [isEmpty, isNextTooLarge] = [true, false];
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
      if (code === 100) return 'beat';
      if (code === 408) return 'expired';
      if (code !== 409 || !/exceeds maxbytes/i.test(description)) return 'gone';
      isNextTooLarge = isEmpty;
      return 'full';
    },
  };
}

/** As the server counts. If they are fewer, it still tells that the next entry does not fit. */
const bytesOf = (message: Msg): number => sizeOf(message) ?? message.data.length;
