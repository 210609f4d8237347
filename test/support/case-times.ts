/** Times in the conformance cases, spelled out as `stopgate test` does. */
export { spellTime as timeOf, spellTimes } from '../../src/cli/commands/tools/policy-cases.ts';
