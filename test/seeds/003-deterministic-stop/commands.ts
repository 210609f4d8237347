/** The seed's own commands in the form of stopgate.yaml. */
import { fileURLToPath } from 'node:url';
import type { RunnerOptions } from '../../../src/runner/runner.ts';

const nous = fileURLToPath(new URL('nous.mjs', import.meta.url));
const ofWorker = { cwd: 'worker', timeoutMs: 20_000 } as const;

export const commands: RunnerOptions['commands'] = {
  validate: {
    ...ofWorker,
    run: [process.execPath, nous, 'validate', '--dir', '.', '--execution'],
    feedback: 'json',
  },
  'nous-execute-stop': {
    ...ofWorker,
    run: ['sh', 'nous-execute-stop'],
    feedback: 'tail',
    env: { NODE: process.execPath, NOUS: nous },
  },
};

/** The seed's script in the folder of the worker. It exits with 0 if both commands pass. */
export const script = `#!/bin/sh
"$NODE" "$NOUS" validate --dir . --execution || exit 1
[ -f principle_updates.json ] || { echo principle_updates.json is missing; exit 1; }
`;
