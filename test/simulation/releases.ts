/** Two releases of the service: the second supports rules that ignore plans. */
import { assign } from 'xstate';
import { RulesVersion, releasedRules, taskMachine, workerMachine } from '../../machines/index.ts';

const rules2 = new RulesVersion(2, {
  workerMachine: workerMachine.provide({ actions: { setPlan: assign({}) } }),
  taskMachine,
});

export type Release = 1 | 2;

export const rulesOf: Readonly<Record<Release, readonly RulesVersion[]>> = {
  1: releasedRules,
  2: [...releasedRules, rules2],
};
