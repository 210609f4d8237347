/**
 * What docs/protocol.md has and the code does not, beside the box "Not yet in force" at its top. What is built leaves
 * both; not-yet.test.ts fails until it does.
 */
export const notYetInForce: {
  readonly causes: readonly string[];
  readonly commands: readonly string[];
  /** Fields of a decision. */
  readonly decision: readonly string[];
  readonly entries: readonly string[];
  /** `<entry> <field>` */
  readonly fields: readonly string[];
} = {
  causes: [],
  commands: ['explain'],
  decision: [],
  entries: [],
  fields: [],
};
