/** Puts the nats-server that `stopgate dev` would start first on PATH, for all processes of the tests. */
import { dirname } from 'node:path';
import { findBinary } from '../../src/nats/embedded/server-binary.ts';

/**
 * Called by the vitest configuration; workers inherit the environment. Without nats-server, tests that need it fail.
 */
export async function preferCurrentServer(env: NodeJS.ProcessEnv): Promise<void> {
  if (env.STOPGATE_TEST_NATS_PATH !== undefined) return; // each project loads the configuration again
  // Debian installs nats-server into a folder that only root has on PATH.
  env.PATH = `${env.PATH}:/usr/sbin`;
  const found = await findBinary(env).catch(() => null);
  if (found !== null) env.PATH = `${dirname(found.path)}:${env.PATH}`;
  env.STOPGATE_TEST_NATS_PATH = env.PATH;
}
