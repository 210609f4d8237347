/** A script has no settings. `init` prints the command line that the script is to run. */
import { formatCommand, formatUrl } from '../setup/line.ts';
import type { LineSetup } from '../setup/setup.ts';
import { hookCommand } from './hook-command.ts';

export const setup: LineSetup = {
  kind: 'line',
  forms: ['command', 'curl'],
  commandFor: (line, worker) =>
    line.form === 'curl'
      ? `curl -sf --noproxy '*' -X POST -H 'content-type: application/json' -d '{"worker":"${worker}"}' '${formatUrl('shell', null, line, false)}'`
      : formatCommand({ agent: 'shell', hook: hookCommand }, null, line, `--worker ${worker}`),
  meaningOf: (form) =>
    form === 'curl'
      ? 'it may stop unless the reply has "decision":"block"'
      : 'exit code 0: it may stop; 2: it may not, and stderr has the reason',
};
