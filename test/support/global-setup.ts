/** Starts one nats-server per vitest worker before the first file, and stops them after the last. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startNatsServer } from './nats-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Any worker may borrow any server: server n is taken while the folder `n` exists in `loans`. */
    natsServers: {
      readonly loans: string;
      readonly servers: readonly { readonly url: string; readonly monitor: string }[];
    };
  }
}

export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const count = Number(project.config.maxWorkers);
  const loans = await mkdtemp(join(tmpdir(), 'stopgate-loans-'));
  const servers = await Promise.all(Array.from({ length: count }, () => startNatsServer()));
  project.provide('natsServers', { loans, servers: servers.map(({ url, monitor }) => ({ url, monitor })) });
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(loans, { recursive: true });
  };
}
