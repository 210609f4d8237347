/** The guards in the protocol's order (protocol.md §5): the first that decides, decides. */
export const guardNames = [
  'retired',
  'escalated',
  'bypass',
  'limited',
  'waiting',
  'promise',
  'checks',
  'hooks',
  'retries',
  'stuck',
  'pending',
  'idle',
  'done',
] as const;
export type GuardName = (typeof guardNames)[number];

/** Asked only if `checks` or `hooks` would block, before the block is given; listed only if they decide, and then last. */
export type FailureGuard = 'retries' | 'stuck';
/** The guards whose block says that the work is not done. */
export type WorkGuard = 'checks' | 'hooks';
