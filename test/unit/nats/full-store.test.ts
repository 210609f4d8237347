/** A start that finds no space for a new log says what to free. */
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { openLogStreams } from '../../../src/nats/log/log-streams.ts';

const fail = (status: number, code: number, description: string) => async () => {
  throw new JetStreamApiError({ code: status, err_code: code, description });
};
/** An empty store without space. */
const manager = {
  streams: {
    info: fail(404, 10_059, 'stream not found'),
    find: fail(404, 10_059, 'stream not found'),
    names: async function* () {},
    add: fail(503, 10_047, 'insufficient storage resources available'),
  },
} as unknown as JetStreamManager;

test('insufficient storage is explained', async () => {
  const options = {
    nc: {} as never,
    fleet: 'main',
    replicas: 1,
    acceptEmptyLog: false,
    hasStart: async () => false,
    log: createLogger('silent'),
  };
  await expect(openLogStreams(manager, options)).rejects.toMatchObject({
    code: 'log.unavailable',
    message:
      'the stream STOPGATE_main cannot be created: insufficient storage resources available; the disk of the NATS server ' +
      'is full, or its max_file_store is reached: free some space there, or raise the limit',
  });
});
