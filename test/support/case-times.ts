/** Expands the times of conformance cases like `stopgate test`. */
export { spellTime as timeOf, spellTimes } from '../../src/cli/commands/tools/policy-cases.ts';
