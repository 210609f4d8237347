/** The runner over stopgate.yaml: that of the service, and that of a runner which is a process of its own. */
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import type { ConfigFile } from '../config/file.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../process-io.ts';
import { createRunner, type Runner } from './index.ts';

export type Checks = Runner & { configure(file: ConfigFile): void };

/** A new configuration makes a new runner, and lets the old one finish. */
export function createChecks(config: Config, env: Io['env'], logger: Logger): Checks {
  const create = ({ roots, commands, escalation }: ConfigFile): Runner => {
    // What a command runs was often written by the agent, who is not to sign webhooks.
    const secretEnv = escalation?.webhook?.secretEnv ?? null;
    const theirs = secretEnv === null ? env : { ...env, [secretEnv]: undefined };
    return createRunner({ roots, commands, baseDir: dirname(config.filePath), env: theirs, log: logger });
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
