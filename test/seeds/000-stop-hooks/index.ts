/** Seed 000, Stop Hooks Specification: a validator is asked when the agent attempts to stop. */
import type { Seed } from '../rule.ts';
import { adapter } from './adapter.ts';
import { contract } from './contract.ts';
import { taxonomy } from './taxonomy.ts';

export const seed000: Seed = {
  number: '000',
  title: 'Stop Hooks Specification',
  parts: [...contract, ...adapter, ...taxonomy],
};
