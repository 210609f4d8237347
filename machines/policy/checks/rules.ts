/** `rules: [...]`: the attempt reported each of these rules as passed. */
import { type CheckKind, findingFor } from './check.ts';
import { passedRules, rulesSchema, type Validation } from './validation.ts';

export const rulesCheck: CheckKind<'rules'> = {
  form: () => rulesSchema.min(1).optional().describe("of the attempt's validation"),
  normalize: (rules) => ({ kind: 'rules', rules }),
  evaluate: (check, { facts }) => findingFor(check, failedRulesMessage(check.rules, facts.validation)),
};

/** In the policy's order; a rule that the attempt did not report has failed. */
function failedRulesMessage(rules: readonly string[], validation: Validation): string | null {
  const passed = passedRules(validation);
  const failed = rules.filter((rule) => !passed.has(rule));
  return failed.length === 0 ? null : `Failed rules: ${failed.join(', ')}`;
}
