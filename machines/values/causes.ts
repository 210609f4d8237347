/**
 * Why an attempt was decided as it was (protocol.md §5). In a file without schemas, so that a page can load it alone.
 */

export const causes = [
  'retired',
  'escalated',
  'bypassed',
  'budget',
  'limited',
  'waiting',
  'capped',
  'incomplete',
  'stuck',
  'pending-tasks',
  'idle',
  'idle-timeout',
  'unjudged',
  'complete',
  'no-policy',
  'superseded',
  'unknown',
] as const;
export type Cause = (typeof causes)[number];
