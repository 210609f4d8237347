/** A second version of the rules, for tests alone: an exhausted budget changes nothing. */
import { assign } from 'xstate';
import { type Rules, releasedRules, workerMachine } from '../../machines/index.ts';

export const version2: Rules = {
  ...(releasedRules[0] as Rules),
  version: 2,
  workerMachine: workerMachine.provide({ actions: { exhaustBudget: assign({}) } }),
};
export const bothVersions: readonly Rules[] = [...releasedRules, version2];
