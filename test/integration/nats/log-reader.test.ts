/** The reader delivers a stream in order, and says where an entry is missing. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLogReader } from '../../../src/nats/log-reader.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let nc: NatsConnection;
beforeAll(async () => {
  server = await openNats();
  nc = await connect({ servers: server.url });
});
afterAll(async () => {
  await nc.close();
  await server.stop();
});

test.each([
  { answer: 'retry', expected: [1, 2] },
  { answer: 'go', expected: [1, 2, 5, 6] },
] as const)(
  'entries that are missing are named, and "$answer" says what becomes of those after them',
  async ({ answer, expected }) => {
    const manager = await jetstreamManager(nc);
    const stream = `gap-${answer}`;
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
    for (let count = 0; count < 6; count += 1) await nc.request(`${stream}.a`, '{}');
    for (const seq of [3, 4]) await manager.streams.deleteMessage(stream, seq);
    const seqs: number[] = [];
    const gaps: number[][] = [];
    const reader = openLogReader(nc, {
      ...{ stream, fromSeq: 1, onMessage: ({ seq }) => void seqs.push(seq) },
      async onGap(fromSeq, toSeq) {
        gaps.push([fromSeq, toSeq]);
        return answer;
      },
    });
    await expect.poll(() => [gaps.length > 0, seqs]).toEqual([true, expected]);
    reader.close();
    expect(gaps[0]).toEqual([3, 5]);
  },
);
