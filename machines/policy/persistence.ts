/** Persistence: whether and how long a worker without work is kept alive (protocol.md §5; seed 004). */
import { z } from 'zod';
import { durationSchema, idSchema, type ObjectMaker } from '../values/schemas.ts';

const defaultIdleMs = 600_000;

/** Idle time until a worker may stop (seed 004, Configurable Timeout Strategies); null means never. */
const idleByProfile = { default: defaultIdleMs, critical: 1_800_000, temporary: 300_000, persistent: null } as const;
type Profile = keyof typeof idleByProfile;
export const isProfile = (name: string): name is Profile => Object.hasOwn(idleByProfile, name);

/** `idleMs` is null without a timeout. `named`: it comes from a profile, so a worker's own profile may replace it. */
export type Persistence = {
  readonly idleMs: number | null;
  readonly named: boolean;
  readonly holdMs: number;
  readonly queue: string | null;
};

/** Returns the idle time after which a worker may stop; null if persistence is off or has no timeout. */
export function idleLimitOf(
  { persistence }: { readonly persistence: Persistence | null },
  profile: string | null,
): number | null {
  // A profile replaces a named timeout, but not a number. Unknown profiles are ignored.
  if (persistence?.named && profile !== null && isProfile(profile)) return idleByProfile[profile];
  return persistence?.idleMs ?? null;
}

export const createPersistenceForm = (object: ObjectMaker) =>
  z.union([
    z.enum(['off', 'default', 'critical', 'temporary', 'persistent']),
    z.literal(false).describe('the same as off'),
    object({
      idle: durationSchema.nullable().optional().describe('idle time until a worker may stop; null: never'),
      hold: durationSchema.optional().describe('how long a stop is kept open to wait for a task'),
      queue: idSchema.optional(),
    }),
  ]);
type PersistenceForm = z.infer<ReturnType<typeof createPersistenceForm>>;

export function normalizePersistence(form: PersistenceForm | undefined): Persistence | null {
  if (form === undefined || form === 'off' || form === false) return null;
  if (typeof form === 'string') return { idleMs: idleByProfile[form], named: true, holdMs: 0, queue: null };
  // Without `idle`, the default of ten minutes applies, which a profile may replace.
  const idleMs = form.idle === undefined ? defaultIdleMs : form.idle;
  return { idleMs, named: form.idle === undefined, holdMs: form.hold ?? 0, queue: form.queue ?? null };
}
