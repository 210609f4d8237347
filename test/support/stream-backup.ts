/** Implements `nats stream backup` and `nats stream restore` with the same requests as the nats tool. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInbox, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { requestInCluster } from './client.ts';

const timeoutMs = 30_000;
const chunkBytes = 65_536;

/** Writes `backup.json` and `stream.tar.s2` into a new folder. */
export async function backUpStream(nc: NatsConnection, stream: string, folder: string): Promise<void> {
  const inbox = createInbox();
  const arriving = nc.subscribe(inbox);
  const asked = JSON.stringify({ deliver_subject: inbox, no_consumers: true, chunk_size: chunkBytes });
  const { config, state } = answerOf(
    await nc.request(`$JS.API.STREAM.SNAPSHOT.${stream}`, asked, { timeout: timeoutMs }),
  );
  const chunks: Uint8Array[] = [];
  for await (const message of arriving) {
    if (message.data.length === 0) break; // the end
    chunks.push(message.data);
    message.respond(); // otherwise the server stops sending
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'backup.json'), JSON.stringify({ config, state }));
  await writeFile(join(folder, 'stream.tar.s2'), Buffer.concat(chunks));
}

export async function restoreStream(nc: NatsConnection, folder: string): Promise<void> {
  const about = await readFile(join(folder, 'backup.json'), 'utf8');
  const bytes = await readFile(join(folder, 'stream.tar.s2'));
  const { config } = JSON.parse(about) as { config: { name: string } };
  const begun = await nc.request(`$JS.API.STREAM.RESTORE.${config.name}`, about, { timeout: timeoutMs });
  const to = String(answerOf(begun).deliver_subject);
  for (let at = 0; at < bytes.length; at += chunkBytes)
    await requestInCluster(nc, to, bytes.subarray(at, at + chunkBytes));
  answerOf(await nc.request(to, '', { timeout: timeoutMs }));
}

/** @throws Error if the server refuses */
function answerOf(message: Msg): Record<string, unknown> {
  const answer = message.json<Record<string, unknown>>();
  if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error));
  return answer;
}
