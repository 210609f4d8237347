/** What the streams of a fleet may hold. A log of an earlier release gets these limits when it is opened. */
import type { JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import type { Logger } from '../log.ts';

/** An entry of 64 KiB (docs/protocol.md §2) and its headers. What is larger the server refuses, and nothing is stored. */
export const messageBytesMax = 70 * 1_024;

/**
 * Dead letters are copies, for people to look at: the newest are enough, and the entries themselves stay in the log.
 * Without an end whoever publishes nonsense would fill the disk twice. One has some 9 KB at most, so they are 200 MB.
 * No `max_bytes`: the server would set that much aside, and refuse the stream where less is free.
 */
export const deadLimits = { discard: 'old', max_msgs: 20_000 } as const;

export async function limitMessages(manager: JetStreamManager, info: StreamInfo, log: Logger): Promise<StreamInfo> {
  if (info.config.max_msg_size !== -1) return info;
  log.info({ stream: info.config.name, messageBytesMax }, 'from now on the log accepts no larger messages');
  return manager.streams.update(info.config.name, { ...info.config, max_msg_size: messageBytesMax });
}

export const hasDeadLimits = ({ max_msgs }: StreamConfig): boolean => max_msgs === deadLimits.max_msgs;
