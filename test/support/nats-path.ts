/** The nats-server that the tests run on: the one that `stopgate dev` would start, first on the PATH of all that they spawn. */
import { dirname } from 'node:path';
import { findBinary } from '../../src/nats/embedded/server-binary.ts';

/** For a configuration of vitest: its workers inherit the environment. Without a nats-server, the tests that need it fail. */
export async function preferCurrentServer(env: NodeJS.ProcessEnv): Promise<void> {
  if (env.STOPGATE_TEST_NATS_PATH !== undefined) return; // each project loads the configuration again
  // Debian puts nats-server where only root's PATH leads.
  env.PATH = `${env.PATH}:/usr/sbin`;
  const found = await findBinary(env).catch(() => null);
  if (found !== null) env.PATH = `${dirname(found.path)}:${env.PATH}`;
  env.STOPGATE_TEST_NATS_PATH = env.PATH;
}
