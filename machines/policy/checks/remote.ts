/** `remote: name`: a client that serves the check's subject answers. */
import { idSchema } from '../../values/schemas.ts';
import type { CheckKind } from './check.ts';

export const remoteCheck: CheckKind<'remote'> = {
  form: () => idSchema.optional().describe('asks stopgate.<fleet>.check.<name>'),
  normalize: (remote) => ({ kind: 'remote', remote }),
  defaultName: (remote) => remote,
  evaluate: (check) => ({ kind: 'pending', check }),
};
