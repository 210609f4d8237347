/** `command: name`: a command of the runner's own configuration succeeds. */
import { idSchema } from '../../values/schemas.ts';
import type { CheckKind } from './check.ts';

export const commandCheck: CheckKind<'command'> = {
  form: () => idSchema.optional().describe("a command of the runner's own configuration"),
  normalize: (command) => ({ kind: 'command', command }),
  defaultName: (command) => command,
  evaluate: (check) => ({ kind: 'pending', check }),
};
