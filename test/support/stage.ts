/** A replica with its HTTP server for inspector tests, and a reader of its event stream. */

import { directoryOf } from '../../src/http/fleet-directory.ts';
import { type HttpOptions, type HttpServer, openHttpServer } from '../../src/http/server.ts';
import type { StreamMessage } from '../../src/inspector/messages.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { type Client, openClient } from './client.ts';
import type { NatsServer } from './nats-server.ts';
import { startReplica } from './replica.ts';
import { openNats } from './shared-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: each test knows the shape of its replies
export type Answer = { readonly status: number; readonly body: any };

export type Stage = {
  readonly nats: NatsServer;
  readonly client: Client;
  readonly http: HttpServer;
  readonly replica: Awaited<ReturnType<typeof startReplica>>;
  /** `/api/main/<path>` */
  get(path: string): Promise<Answer>;
  post(path: string, body: object, token?: string): Promise<Answer>;
  stream(path?: string, headers?: Record<string, string>): Promise<StreamReader>;
  close(): Promise<void>;
};
export const operatorToken = 'an-operators-token';

type StageOptions = Partial<Parameters<typeof startReplica>[0]> &
  Pick<HttpOptions, 'answerLinks'> & {
    /** Uses a separate NATS server, which may be killed. */
    readonly isAlone?: boolean;
  };

export async function openStage({ answerLinks, isAlone = false, ...options }: StageOptions = {}): Promise<Stage> {
  const nats = await openNats(isAlone ? {} : undefined);
  const client = await openClient(nats.url);
  const replica = await startReplica({ nats: nats.url, ...options });
  const http = await openHttpServer({
    fleets: directoryOf(replica),
    host: '127.0.0.1',
    port: 0,
    token: null,
    operatorToken,
    version: '0.0.0',
    metrics: createMetrics(),
    log: createLogger('silent'),
    closeTimeoutMs: 60_000,
    ...(answerLinks === undefined ? {} : { answerLinks }),
  });
  const readers: StreamReader[] = [];
  const url = (path: string) => `${http.url}/api/main/${path}`;
  const answer = async (response: Response) => {
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  return {
    nats,
    client,
    http,
    replica,
    get: async (path) => answer(await fetch(url(path))),
    post: async (path, body, token) =>
      answer(
        await fetch(url(path), {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          body: JSON.stringify(body),
        }),
      ),
    async stream(path = 'stream', headers = {}) {
      const reader = await openStream(url(path), headers);
      readers.push(reader);
      return reader;
    },
    async close() {
      for (const reader of readers) reader.close();
      await http.close();
      await replica.close();
      await client.close();
      await nats.stop();
    },
  };
}

export type StreamEvent = StreamMessage & { readonly id: string | null };
type DataOf<Name extends StreamEvent['event']> = Extract<StreamEvent, { event: Name }>['data'];
export type StreamReader = {
  readonly events: StreamEvent[];
  /** The first matching event, including earlier ones. @throws Error after 5 s */
  until<Name extends StreamEvent['event']>(
    event: Name,
    fits?: (data: DataOf<Name>) => boolean,
  ): Promise<{ id: string | null; data: DataOf<Name> }>;
  /** Data of all events with this name. */
  all<Name extends StreamEvent['event']>(event: Name): DataOf<Name>[];
  close(): void;
};

async function openStream(url: string, headers: Record<string, string> = {}): Promise<StreamReader> {
  const abort = new AbortController();
  const response = await fetch(url, { headers, signal: abort.signal });
  if (response.body === null || response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const events: StreamEvent[] = [];
  let wake = () => {};
  void read(response.body, (event) => {
    events.push(event);
    wake();
  });
  return {
    events,
    all: (event) => events.flatMap((it) => (it.event === event ? [it.data as never] : [])),
    async until(event, fits = () => true) {
      const late = Date.now() + 5_000;
      for (;;) {
        const found = events.find((it) => it.event === event && fits(it.data as never));
        if (found !== undefined) return { id: found.id, data: found.data as never };
        if (Date.now() > late) throw new Error(`not seen among ${JSON.stringify(events.map(({ event }) => event))}`);
        await Promise.race([new Promise<void>((done) => (wake = done)), new Promise((done) => setTimeout(done, 250))]);
      }
    },
    close: () => abort.abort(),
  };
}

async function read(body: ReadableStream<Uint8Array>, onEvent: (event: StreamEvent) => void): Promise<void> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? null;
        const data = field('data');
        if (data !== null) onEvent({ event: field('event'), id: field('id'), data: JSON.parse(data) } as StreamEvent);
      }
    }
  } catch {
    // The test has closed it.
  }
}
