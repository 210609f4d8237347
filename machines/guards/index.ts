/** The guards of a stop, in the protocol's order: read them beside the table of protocol.md §5. */
import { bypass } from './bypass.ts';
import { checks } from './checks.ts';
import type { GuardName } from './decision.ts';
import { done } from './done.ts';
import { escalated } from './escalated.ts';
import type { Guard } from './guard.ts';
import { hooks } from './hooks.ts';
import { idle } from './idle.ts';
import { limited } from './limited.ts';
import { pending } from './pending.ts';
import { promise } from './promise.ts';
import { retired } from './retired.ts';
import { retries } from './retries.ts';
import { stuck } from './stuck.ts';
import { waiting } from './waiting.ts';

/** One for each name: a guard that is missing does not compile. */
export const guards: Readonly<Record<GuardName, Guard>> = {
  retired,
  escalated,
  bypass,
  limited,
  waiting,
  promise,
  checks,
  hooks,
  retries,
  stuck,
  pending,
  idle,
  done,
};
