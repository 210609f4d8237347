/** Seed 002, Task Completion Checking: checkers that say whether all tasks of an agent are done. */
import type { Seed } from '../rule.ts';
import { checkers, notes } from './checkers.ts';
import { contract } from './contract.ts';
import { integration } from './integration.ts';

export const seed002: Seed = {
  number: '002',
  title: 'Task Completion Checking',
  parts: [...contract, ...checkers, ...integration, ...notes],
};
