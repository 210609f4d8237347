/** Times in the conformance cases, spelled out as `stopgate test` does. */
export { toIsoTime as timeOf, expandTimes as spellTimes } from '../../src/cli/commands/tools/policy-cases.ts';
