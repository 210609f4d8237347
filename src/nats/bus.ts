/** What a replica does on the bus beside its log: it answers inboxes and sends requests to other processes. */
import { type NatsConnection, RequestError } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';

export type Bus = {
  /** False while the connection to the server is broken; it reconnects by itself. */
  isConnected(): boolean;
  /** Sends an answer to a client's inbox, if it is one. @returns false: that subject is no inbox */
  answer(inbox: string, payload: string): boolean;
  /** `gone`: nobody listens; `silent`: no answer in time. */
  ping(replica: string): Promise<'alive' | 'silent' | 'gone'>;
  /** @throws AppError service.unreachable: no responder, or no reply in time; check.failed: the responder's own error */
  request(subject: string, payload: string, timeoutMs: number): Promise<string>;
};

const builtInPrefixes = ['_INBOX.', '_R_.'];
const pingTimeoutMs = 1_000;

export function createBus(nc: NatsConnection, replyPrefixes: readonly string[]): Bus {
  const prefixes = [...builtInPrefixes, ...replyPrefixes];
  let connected = true;
  void (async () => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') connected = false;
      if (type === 'reconnect') connected = true;
    }
  })();
  return {
    isConnected: () => connected,
    answer(inbox, payload) {
      if (!prefixes.some((prefix) => inbox.startsWith(prefix)) || !isPublishable(inbox)) return false;
      try {
        nc.publish(inbox, payload);
      } catch {
        // The connection is closing, or the answer is larger than the server allows: the client tries again.
      }
      return true;
    },
    async ping(replica) {
      try {
        await nc.request(`$SRV.PING.stopgate.${replica}`, '', { timeout: pingTimeoutMs });
        return 'alive';
      } catch (cause) {
        return isNoResponder(cause) ? 'gone' : 'silent';
      }
    },
    async request(subject, payload, timeoutMs) {
      try {
        const reply = await nc.request(subject, payload, { timeout: timeoutMs });
        const failed = reply.headers?.has('Nats-Service-Error-Code') ?? false;
        if (failed) throw new AppError('check.failed', reply.headers?.get('Nats-Service-Error') || 'unknown error');
        return reply.string();
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        const why = isNoResponder(cause)
          ? `nobody serves ${subject}`
          : `no reply from ${subject} within ${timeoutMs} ms`;
        throw new AppError('service.unreachable', why, { cause });
      }
    },
  };
}

const isNoResponder = (cause: unknown) => cause instanceof RequestError && cause.isNoResponders();
/** A whole subject without wildcards: no client may make the service write elsewhere. */
const isPublishable = (subject: string) => /^[^\s*>]+$/.test(subject) && !subject.split('.').includes('');
