/** How deep groups of checks or hooks may nest. */
export const nestingMax = 4;

/** @returns 0 for what is no group */
export function nestingDepth<Node>(node: Node, membersOf: (node: Node) => readonly Node[] | undefined): number {
  const members = membersOf(node);
  return members === undefined ? 0 : 1 + Math.max(...members.map((member) => nestingDepth(member, membersOf)));
}
