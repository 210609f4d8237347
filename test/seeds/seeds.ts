/** All seeds, in their order. */

import { seed000 } from './000-stop-hooks/index.ts';
import { seed001 } from './001-stop-hook-system/index.ts';
import { seed002 } from './002-task-completion/index.ts';
import { seed003 } from './003-deterministic-stop/index.ts';
import { seed004 } from './004-worker-persistence/index.ts';
import type { Seed } from './rule.ts';

export const seeds: readonly Seed[] = [seed000, seed001, seed002, seed003, seed004];
