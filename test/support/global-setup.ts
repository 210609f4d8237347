/** One nats-server for each worker of vitest, started before the first file and ended after the last. */
import type { TestProject } from 'vitest/node';
import { startNatsServer } from './nats-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** That of worker n (VITEST_POOL_ID) is at n - 1. */
    natsServers: readonly { readonly url: string; readonly monitor: string }[];
  }
}

export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const count = Number(project.vitest.config.maxWorkers);
  const servers = await Promise.all(Array.from({ length: count }, () => startNatsServer()));
  project.provide(
    'natsServers',
    servers.map(({ url, monitor }) => ({ url, monitor })),
  );
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
}
