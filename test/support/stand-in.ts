/** A fake service for command line tests: canned replies on a real NATS server, and a log. */
import { jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import type { NatsServer } from './nats-server.ts';
import { openNats } from './shared-server.ts';

/** Throw this in a handler to send an error reply. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: object;
  constructor(status: number, body: object) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
  }
}

export type Asked = { readonly subject: string; readonly body: Record<string, unknown> };

export type StandIn = {
  readonly url: () => string;
  readonly connection: () => NatsConnection;
  /** A fleet used only by this test. */
  readonly newFleet: () => string;
  /** Serves `stopgate.<fleet>.<tail>`. @returns the requests so far */
  readonly answer: (fleet: string, tail: string, handler: (asked: Asked) => object) => Promise<Asked[]>;
  /** Creates the fleet's stream. */
  readonly makeLog: (fleet: string) => Promise<void>;
  /** Entries of the log: subjects without `stopgate.<fleet>.`, and bodies. */
  readonly stored: (fleet: string) => Promise<(readonly [tail: string | undefined, body: unknown])[]>;
  readonly server: () => NatsServer;
};

/** Call at the top of a test file: all its tests share one server. */
export function useStandIn(): StandIn {
  let server: NatsServer;
  let nc: NatsConnection;
  let fleets = 0;
  beforeAll(async () => {
    server = await openNats();
    nc = await connect({ servers: server.url });
  });
  afterAll(async () => {
    await nc.close();
    await server.stop();
  });
  return {
    url: () => server.url,
    server: () => server,
    connection: () => nc,
    newFleet: () => `f${++fleets}`,
    async answer(fleet, tail, handler) {
      const asked: Asked[] = [];
      nc.subscribe(`stopgate.${fleet}.${tail}`, {
        callback: (_error, message) => {
          asked.push({ subject: message.subject, body: message.json() });
          try {
            message.respond(JSON.stringify(handler(asked.at(-1) as Asked)));
          } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            const h = headers();
            h.set('Nats-Service-Error-Code', String(error.status));
            message.respond(JSON.stringify(error.body), { headers: h });
          }
        },
      });
      await nc.flush();
      return asked;
    },
    async makeLog(fleet) {
      const subjects = ['worker', 'task', 'queue', 'own', 'decision'].map((entity) => `stopgate.${fleet}.${entity}.>`);
      await (await jetstreamManager(nc)).streams.add({ name: `STOPGATE_${fleet}`, subjects });
    },
    async stored(fleet) {
      const { streams } = await jetstreamManager(nc);
      const { state } = await streams.info(`STOPGATE_${fleet}`);
      const seqs = Array.from({ length: state.last_seq }, (_, index) => index + 1);
      const messages = await Promise.all(seqs.map((seq) => streams.getMessage(`STOPGATE_${fleet}`, { seq })));
      return messages.map((message) => [message?.subject.slice(`stopgate.${fleet}.`.length), message?.json()]);
    },
  };
}

export const blocked: Decision = {
  v: 1,
  fleet: 'main',
  worker: 'w1',
  task: 'T-1',
  tasks: ['T-1'],
  attempt: 'a1',
  seq: 1234,
  at: '2026-03-02T12:00:03.250Z',
  decision: 'block',
  action: 'continue',
  cause: 'incomplete',
  reason: '2 of 5 plan steps remain: Write tests, Fix lint',
  nextPrompt: 'Write tests.\nThen fix lint.',
  feedback: [{ check: 'tests', outcome: 'fail', message: '3 tests failed', details: {} }],
  state: 'blocked',
  retry: { count: 1, max: 3 },
  keepAlives: { count: 0, max: null },
  idle: { ms: 180_000, limitMs: 600_000, remainingMs: 420_000 },
  pendingTasks: 2,
  policy: { name: 'strict', seq: 3 },
  verdicts: [
    { guard: 'promise', verdict: 'pass', detail: 'none' },
    { guard: 'hooks', verdict: 'error', detail: 'scan: no answer', tookMs: 1500 },
    { guard: 'checks', verdict: 'block', detail: 'plan: 2 of 5 remain', tookMs: 0.1 },
  ],
  replica: 'r1',
  tookMs: 0.7,
  dryRun: false,
};

export const allowed: Decision = {
  ...blocked,
  decision: 'allow',
  action: 'complete',
  cause: 'complete',
  reason: 'All checks passed',
  nextPrompt: null,
  feedback: [],
  state: 'stopped',
  verdicts: [{ guard: 'done', verdict: 'allow', detail: 'complete' }],
};
