/** A plain NATS client without stopgate code, like any agent's. */
import { setTimeout } from 'node:timers/promises';
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type Msg, type NatsConnection, RequestError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Decision } from '../../machines/index.ts';

export type Answer = {
  /** The `Nats-Service-Error-Code`, or '' if there was no error. */
  readonly code: string;
  readonly body: Decision & { readonly error: { readonly code: string; readonly message: string } };
};

export type Client = {
  readonly nc: NatsConnection;
  readonly manager: JetStreamManager;
  ask(subject: string, body?: object | string, timeoutMs?: number): Promise<Answer>;
  publish(tail: string, data?: object | string, messageId?: string): Promise<{ seq: number; duplicate: boolean }>;
  /** All payloads in a stream on a subject, in order. */
  stored(stream: string, subject: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
};

export async function openClient(url: string, fleet = 'main'): Promise<Client> {
  const nc = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  const manager = await jetstreamManager(nc, { checkAPI: false });
  return {
    nc,
    manager,
    async ask(subject, body = {}, timeoutMs = 30_000) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const reply = await nc.request(`stopgate.${fleet}.${subject}`, text, { timeout: timeoutMs });
      return { code: reply.headers?.get('Nats-Service-Error-Code') ?? '', body: reply.json() };
    },
    publish: (tail, data = {}, messageId) =>
      jetstream(nc).publish(`stopgate.${fleet}.${tail}`, typeof data === 'string' ? data : JSON.stringify(data), {
        ...(messageId === undefined ? {} : { msgID: messageId }),
      }),
    async stored(stream, subject) {
      const found: Record<string, unknown>[] = [];
      const { state } = await manager.streams.info(stream, { subjects_filter: subject });
      const total = Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
      for (let seq = 1; found.length < total; ) {
        const message = await manager.streams.getMessage(stream, { seq, next_by_subj: subject } as { seq: number });
        if (message === null) break;
        found.push(message.json());
        seq = message.seq + 1;
      }
      return found;
    },
    close: () => nc.close(),
  };
}

/**
 * Repeats a request while there is no responder. In a cluster, a new subscription becomes known to other nodes only
 * after a moment, possibly after the responder reports that it is ready.
 */
export async function requestInCluster(nc: NatsConnection, subject: string, body: string | Uint8Array): Promise<Msg> {
  const timeoutMs = 60_000;
  for (const untilMs = performance.now() + timeoutMs; ; ) {
    try {
      return await nc.request(subject, body, { timeout: timeoutMs });
    } catch (cause) {
      if (!(cause instanceof RequestError && cause.isNoResponders()) || performance.now() > untilMs) throw cause;
    }
    await setTimeout(10);
  }
}
