/** The kinds of checks, in the order in which messages list them. A kind without a row does not compile. */
import { allCheck } from './all.ts';
import { anyCheck } from './any.ts';
import type { CheckKind, Kind } from './check.ts';
import { commandCheck } from './command.ts';
import { filesCheck } from './files.ts';
import { gitCheck } from './git.ts';
import { planCheck } from './plan.ts';
import { remoteCheck } from './remote.ts';
import { rulesCheck } from './rules.ts';

export const checkKinds: { readonly [K in Kind]: CheckKind<K> } = {
  plan: planCheck,
  rules: rulesCheck,
  files: filesCheck,
  git: gitCheck,
  command: commandCheck,
  remote: remoteCheck,
  all: allCheck,
  any: anyCheck,
};
