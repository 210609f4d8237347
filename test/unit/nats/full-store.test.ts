/** A start that finds no space for a new log says what to free. */
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { openLogStreams } from '../../../src/nats/log/log-streams.ts';

const fail = (status: number, code: number, description: string) => async () => {
  throw new JetStreamApiError({ code: status, err_code: code, description });
};
/** An empty store that refuses a stream. */
const managerThat = (add: () => Promise<never>) =>
  ({
    streams: {
      info: fail(404, 10_059, 'stream not found'),
      find: fail(404, 10_059, 'stream not found'),
      names: async function* () {},
      add,
    },
  }) as unknown as JetStreamManager;

test.each([
  [
    fail(503, 10_047, 'insufficient storage resources available'),
    'insufficient storage resources available; the disk of the NATS server is full, or its max_file_store is reached: ' +
      'free some space there, or raise the limit',
  ],
  [
    fail(500, 10_049, 'error creating store for stream'),
    'error creating store for stream; the NATS server cannot write its store: look at the free space and the owner of its ' +
      'store_dir',
  ],
])('a store without space is explained (%#)', async (add, why) => {
  const options = {
    nc: {} as never,
    fleet: 'main',
    replicas: 1,
    acceptEmptyLog: false,
    hasStart: async () => false,
    log: createLogger('silent'),
  };
  await expect(openLogStreams(managerThat(add), options)).rejects.toMatchObject({
    code: 'log.unavailable',
    message: `the stream STOPGATE_main cannot be created: ${why}`,
  });
});
