/** The runner of a stopgate.yaml that may change, in the service or in a runner process. */
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import type { ConfigFile } from '../config/file.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { createRunner, type Runner, type RunnerSettings } from './index.ts';

export type ReloadingRunner = Omit<Runner, 'configure'> & { configure(file: ConfigFile): void };

/** One runner, whatever the file says: its places are shared by the checks of the old file and of the new. */
export function createReloadingRunner(
  config: Pick<Config, 'file' | 'filePath'>,
  env: Io['env'],
  logger: Logger,
): ReloadingRunner {
  const settingsOf = ({ roots, commands, judges, concurrency }: ConfigFile): RunnerSettings => ({
    ...{ roots, commands, judges, baseDir: dirname(config.filePath), env, processesMax: concurrency },
  });
  const runner = createRunner({ ...settingsOf(config.file), log: logger });
  return { ...runner, configure: (file) => runner.configure(settingsOf(file)) };
}
