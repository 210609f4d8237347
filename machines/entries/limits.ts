/** Bounds of entries (protocol.md §2). Constants, since all replicas must agree on what is refused. */

export const payloadBytesMax = 65_536;
/** Objects and arrays within each other. Deeper, a walk over the fields could overflow the stack of a replica. */
export const jsonDepthMax = 100;
export const filesMax = 5_000;
export const hooksMax = 64;
