/**
 * A handwritten alternative on a NATS key-value bucket, in its own process: gets the worker's value, decides, and puts
 * the value back if it has not changed meanwhile. The value is the record: the attempt, the decision and their inputs.
 */
import { JetStreamApiError, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { Msg } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';

type Value = { readonly attempts: number; readonly attempt: unknown; readonly decision: object };

const bucket = 'BENCH-PEER';
const stream = `KV_${bucket}`;
/** The maximum history of a bucket. */
const history = 64;
/** The error code for an expected revision that is not the last one. */
const conflictCodes = [10_071, 10_164];

const nc = await connect({ servers: process.argv[2] ?? '' });
const js = jetstream(nc);
const manager = await jetstreamManager(nc);
// The same stream configuration as the library's buckets.
await manager.streams.add({
  name: stream,
  subjects: [`$KV.${bucket}.>`],
  storage: 'file',
  max_msgs_per_subject: history,
  allow_direct: true,
  allow_rollup_hdrs: true,
  deny_delete: true,
  discard: 'new',
  num_replicas: 1,
});

nc.subscribe('peer.kv.stop.*', { queue: 'peer', callback: (_error, message) => void answer(message) });
await nc.flush();
process.send?.('ready');

async function answer(message: Msg): Promise<void> {
  const key = `$KV.${bucket}.${message.subject.split('.').at(-1)}`;
  for (;;) {
    const found = await manager.direct.getMessage(stream, { last_by_subj: key });
    const attempts = (found?.json<Value>().attempts ?? 0) + 1;
    const decision = { decision: 'allow', cause: 'complete', attempt: attempts };
    const value = JSON.stringify({ attempts, attempt: message.json(), decision } satisfies Value);
    try {
      await js.publish(key, value, { expect: { lastSubjectSequence: found?.seq ?? 0 }, timeout: 30_000 });
      message.respond(JSON.stringify(decision));
      return;
    } catch (error) {
      if (!(error instanceof JetStreamApiError && conflictCodes.includes(error.code))) throw error;
    }
  }
}
