/** The runner of a stopgate.yaml that may change, in the service or in a runner process. */
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import type { ConfigFile } from '../config/file.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { createRunner, type Runner } from './index.ts';

export type ReloadingRunner = Runner & { configure(file: ConfigFile): void };

/** A new configuration makes a new runner; the old one finishes. */
export function createReloadingRunner(config: Config, env: Io['env'], logger: Logger): ReloadingRunner {
  const create = ({ roots, commands, concurrency, escalation }: ConfigFile): Runner => {
    // The agent often wrote what a command runs, and must not be able to sign webhooks.
    const secretEnv = escalation?.webhook?.secretEnv ?? null;
    const commandEnv = secretEnv === null ? env : { ...env, [secretEnv]: undefined };
    const place = { roots, commands, baseDir: dirname(config.filePath), env: commandEnv };
    return createRunner({ ...place, processesMax: concurrency, log: logger });
  };
  let runner = create(config.file);
  const old = new Set<Runner>();
  return {
    run: (request, signal, onStarted) => runner.run(request, signal, onStarted),
    waiting: () => [runner, ...old].reduce((sum, each) => sum + each.waiting(), 0),
    configure(file) {
      old.add(runner);
      runner = create(file);
    },
    close: async () => void (await Promise.all([runner, ...old].map((each) => each.close()))),
  };
}
