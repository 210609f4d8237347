/** Expands the times of conformance cases like `stopgate test`. */
export { expandTimes as spellTimes, toIsoTime as timeOf } from '../../src/cli/commands/tools/policy-cases.ts';
