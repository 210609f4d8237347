/** The guards in the protocol's order (protocol.md §5): the first that decides, decides. */
export const guardNames = [
  'retired',
  'escalated',
  'bypass',
  'limited',
  'waiting',
  'retries',
  'promise',
  'checks',
  'hooks',
  'stuck',
  'pending',
  'idle',
  'done',
] as const;
export type GuardName = (typeof guardNames)[number];
