/** An agent's NATS client: publishes, requests and serves. Its messages may be lost with the server. */
import { empty, type Message, readField, writeHeader } from './nats/protocol.ts';
import type { Process } from './scheduler.ts';
import type { World } from './world.ts';

export type Reply = { readonly data: string; readonly errorCode: string | undefined };

export type Client = {
  readonly process: Process;
  sleep(ms: number): Promise<void>;
  publish(subject: string, payload: string, headers?: Record<string, string>): void;
  /**
   * Null without a reply in time or without a responder. `inbox`: where the reply arrives, if not on the reply subject.
   */
  request(subject: string, payload: string, options: RequestOptions): Promise<Reply | null>;
  /** Serves a subject on every server that starts. The handler returns null to send no reply. */
  serve(subject: string, queue: string, answer: (payload: string) => Promise<string | null>): void;
};

type RequestOptions = {
  readonly timeoutMs: number;
  readonly headers?: Record<string, string>;
  /** The header that names the inbox for the reply, in place of the reply subject. */
  readonly replyHeader?: string;
};

export function createClient(world: World, name: string): Client {
  const { scheduler } = world;
  const random = world.random.fork(name);
  const process = scheduler.spawn(name);
  let inboxes = 0;
  let lastAtMs = 0;
  const delayMs = () => random.spread(0.2, 1.5);
  const send = (message: Message, before: (server: NonNullable<World['server']>) => void = () => {}) => {
    const { server } = world;
    if (server === null) return;
    // A single connection, so messages arrive in order.
    lastAtMs = Math.max(lastAtMs, scheduler.nowMs + delayMs());
    scheduler.after(server.process, lastAtMs - scheduler.nowMs, () => {
      before(server);
      server.publish(message);
    });
  };
  const toMessage = (subject: string, payload: string, reply: string, headers: Record<string, string>): Message => ({
    subject,
    reply,
    data: payload === '' ? empty : Buffer.from(payload),
    header: Object.keys(headers).length === 0 ? null : writeHeader(null, headers),
  });
  return {
    process,
    sleep: (ms) => new Promise((done) => void scheduler.after(process, ms, () => done())),
    publish: (subject, payload, headers = {}) => send(toMessage(subject, payload, '', headers)),
    request: (subject, payload, { timeoutMs, headers = {}, replyHeader }) =>
      new Promise((resolve) => {
        inboxes += 1;
        const inbox = `_INBOX.${name}.${inboxes}`;
        const late = scheduler.after(process, timeoutMs, () => resolve(null));
        const onReply = ({ data, header }: Message) => {
          const isNobody = data.length === 0 && header?.toString().startsWith('NATS/1.0 503');
          const reply = { data: data.toString(), errorCode: readField(header, 'Nats-Service-Error-Code') };
          scheduler.after(process, delayMs(), () => {
            late.cancel();
            resolve(isNobody ? null : reply);
          });
        };
        const all = replyHeader === undefined ? headers : { ...headers, [replyHeader]: inbox };
        const reply = replyHeader === undefined ? inbox : '';
        send(toMessage(subject, payload, reply, all), (server) => void server.subscribe(inbox, null, onReply));
      }),
    serve(subject, queue, answer) {
      world.onServer((server) =>
        server.subscribe(subject, queue, ({ reply, data }) => {
          scheduler.after(process, delayMs(), () => {
            void answer(data.toString()).then((text) => {
              if (text !== null) send(toMessage(reply, text, '', {}));
            });
          });
        }),
      );
    },
  };
}
