/** Runs `stopgate dev` in its own folder. */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Client, openClient } from './client.ts';
import { type Folder, makeFolder } from './deployment.ts';
import { type Service, startService } from './service.ts';

export type Dev = Service & { readonly ready: { readonly http: string } };

export const startDev = async (folder: Folder, start = startService): Promise<Dev> =>
  (await start(['dev', '--port', '0', '--http', '127.0.0.1:0'], folder.path)) as Dev;

export const inStore = (folder: Folder, name: string) => join(folder.path, '.stopgate', name);
export const serverPid = async (folder: Folder) => Number(await readFile(inStore(folder, 'nats-server.pid'), 'utf8'));
export const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

/** Stops the folder's nats-server, if it still runs, and removes the folder. */
export async function clear(folder: Folder): Promise<void> {
  const pid = await serverPid(folder).catch(() => 0);
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  if (pid > 1 && line.includes(folder.path)) process.kill(pid, 'SIGKILL');
  await folder.remove();
}

/** Creates a folder that is cleared after the test. */
export async function ownFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const folder = await makeFolder(files);
  onTestFinished(() => clear(folder));
  return folder;
}

export async function connect({ ready }: Service): Promise<Client> {
  const client = await openClient(ready.nats);
  onTestFinished(() => client.close());
  return client;
}
