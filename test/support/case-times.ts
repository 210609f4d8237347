/** Times in the conformance cases, spelled out as `stopgate test` does. */
export { expandTimes as spellTimes, toIsoTime as timeOf } from '../../src/cli/commands/tools/policy-cases.ts';
