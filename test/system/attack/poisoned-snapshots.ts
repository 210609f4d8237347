/** Forged and damaged objects in the snapshot bucket. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';

const bucket = 'STOPGATE-SNAPSHOTS_main';

/** Adds damaged and forged copies of the newest snapshot, with its metadata. @returns their number */
export async function poisonSnapshots(nc: NatsConnection): Promise<number> {
  await nc.request('stopgate.main.snapshot.main', '{}', { timeout: 60_000 }).catch(() => null);
  const objects = new Objm(jetstream(nc));
  const store = await objects.create(bucket);
  const newest = (await store.list()).filter((it) => !it.deleted).at(-1);
  const bytes = newest === undefined ? Buffer.from('none') : Buffer.from((await store.getBlob(newest.name)) ?? []);
  const text = newest === undefined ? '' : gunzipSync(bytes).toString();
  const flipped = Buffer.from(bytes);
  flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
  const contents: readonly Uint8Array[] = [
    bytes.subarray(0, bytes.length >> 1),
    flipped,
    gzipSync(Buffer.alloc(256 * 1_048_576)),
    gzipSync(text.replace('"complete"', '"capped"')),
    gzipSync(`${text}${'['.repeat(100_000)}`),
    Buffer.from('{"__proto__":{"fleet":"main"}}'),
    new Uint8Array(0),
  ];
  let planted = 0;
  for (const [index, content] of contents.entries()) {
    const metadata = newest?.metadata ?? { head: '{"fleet":"main"}', format: '4' };
    await store.putBlob({ name: String(9_000_000_000_000_000 + index), metadata }, content);
    planted += 1;
  }
  return planted;
}
