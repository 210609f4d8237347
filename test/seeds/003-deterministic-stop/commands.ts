/** The seed's own commands, as they would stand in stopgate.yaml. */
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

/** The seed's script, which stands in the folder of the worker: exit 0 if both pass. */
export const script = `#!/bin/sh
"$NODE" "$NOUS" validate --dir . --execution || exit 1
[ -f principle_updates.json ] || { echo principle_updates.json is missing; exit 1; }
`;
