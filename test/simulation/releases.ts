/** Two releases of the service: the second knows rules in which a plan is not heeded any more. */
import { assign } from 'xstate';
import { type Rules, releasedRules, workerMachine } from '../../machines/index.ts';

const [rules1] = releasedRules as [Rules];
const rules2: Rules = {
  ...rules1,
  version: 2,
  workerMachine: workerMachine.provide({ actions: { setPlan: assign({}) } }),
};

export type Release = 1 | 2;

export const rulesOf: Readonly<Record<Release, readonly Rules[]>> = { 1: [rules1], 2: [rules1, rules2] };
