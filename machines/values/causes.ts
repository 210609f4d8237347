/** Why an attempt was decided as it was (protocol.md §5): of themselves, so that a page has them without the schemas. */

export const causes = [
  'retired',
  'escalated',
  'bypassed',
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
