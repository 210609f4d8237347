/** A second version of the rules, only for tests: an exhausted budget has no effect. */
import { assign } from 'xstate';
import { RulesVersion, releasedRules, taskMachine, workerMachine } from '../../machines/index.ts';

export const version2 = new RulesVersion(2, {
  workerMachine: workerMachine.provide({ actions: { exhaustBudget: assign({}) } }),
  taskMachine,
});
export const bothVersions: readonly RulesVersion[] = [...releasedRules, version2];
