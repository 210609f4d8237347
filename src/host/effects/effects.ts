/**
 * Performs the effects that the state asks for (`effectsOf`) and that are this replica's to perform, and stores their
 * answers. Once per turn, at the log's head, it starts the requested effects that are not running and aborts the
 * running ones that are no longer requested. Behind the head it does nothing.
 */
import { actorsWithEffects, type Effect, effectsOf, type Fleet, isRequested } from '../../../machines/index.ts';
import { notNeeded } from '../../timer.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { OwnEntries, OwnEntry } from '../own-entries.ts';

/** The entry that answers an effect. The effect's key is its message id. */
export type Answer = Pick<OwnEntry, 'tail' | 'data' | 'onRefused'>;

export type Run = {
  /** Aborted when the effect is no longer requested, now belongs to another replica, or was given back. */
  readonly signal: AbortSignal;
  /** Whether the state requests the effect right now; `signal` follows within a turn. */
  readonly isNeeded: () => boolean;
  /** Ends this run without an answer. The effect starts again if it is still requested at the head. */
  readonly giveBack: () => void;
};

export type Performer<Performed extends Effect> = {
  /** True if every replica starts the effect and waits for its own turn. False if only the owner starts it. */
  readonly runsOnAllReplicas: boolean;
  /** Resolves to the answer, or to null if the run has ended without one. Never rejects. */
  perform(effect: Performed, run: Run): Promise<Answer | null>;
};

/** One performer per kind of effect. */
export type Performers = { readonly [Kind in Effect['kind']]: Performer<Extract<Effect, { readonly kind: Kind }>> };

export type Effects = {
  /** Called when the effects of these actors (`actorKey`) may have changed. */
  touch(actors: Iterable<string>): void;
  /** Called at the log's head: compares all requested effects with all running ones. */
  open(): void;
  /** Starts an effect of a replica that is gone. */
  takeOver(effect: Effect): void;
  /** Aborts all effects and starts no others. */
  close(): void;
};

type Running = { readonly owner: string | null; readonly abort: AbortController };

export type EffectsOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly entries: OwnEntries;
  readonly performers: Performers;
};

export function createEffects({ fleet, replica, lifecycle, entries, performers }: EffectsOptions): Effects {
  /** The running effects, by actor, then by the effect's key. */
  const running = new Map<string, Map<string, Running>>();
  const touched = new Set<string>();
  let isArmed = false;
  let isClosed = false;

  const remove = (actor: string, key: string) => {
    const ofActor = running.get(actor);
    ofActor?.delete(key);
    if (ofActor?.size === 0) running.delete(actor);
  };
  const run = async (effect: Effect, { abort }: Running) => {
    const { actor, key } = effect;
    const { signal } = abort;
    const isNeeded = () => !signal.aborted && isRequested(fleet, effect);
    const giveBack = () => {
      if (signal.aborted) return;
      remove(actor, key);
      abort.abort(notNeeded);
      touch([actor]);
    };
    const answer = await performers[effect.kind].perform(effect as never, { signal, isNeeded, giveBack });
    if (answer !== null) await entries.untilFolded({ messageId: key, isNeeded, ...answer });
  };
  const start = (effect: Effect) => {
    const { actor, key, owner } = effect;
    const ofActor = running.get(actor) ?? new Map<string, Running>();
    // Effects that appear while this replica stops are left to the others.
    if (isClosed || ofActor.has(key)) return;
    const started = { owner, abort: new AbortController() };
    running.set(actor, ofActor.set(key, started));
    void run(effect, started);
  };
  const sync = (actors: Iterable<string>) => {
    for (const actor of actors) {
      const requested = effectsOf(fleet, [actor]);
      for (const [key, { owner, abort }] of running.get(actor) ?? []) {
        const current = requested.find((effect) => effect.key === key);
        if (current !== undefined && (performers[current.kind].runsOnAllReplicas || current.owner === owner)) continue;
        remove(actor, key);
        abort.abort(notNeeded);
      }
      for (const effect of requested)
        if (performers[effect.kind].runsOnAllReplicas || effect.owner === replica) start(effect);
    }
  };
  const syncTouched = () => {
    isArmed = false;
    const actors = [...touched];
    touched.clear();
    if (!isClosed && lifecycle.isAtHead()) sync(actors);
  };
  const touch = (actors: Iterable<string>) => {
    for (const actor of actors) touched.add(actor);
    if (isArmed || touched.size === 0) return;
    isArmed = true;
    setImmediate(syncTouched);
  };
  return {
    touch,
    open: () => sync(new Set([...running.keys(), ...actorsWithEffects(fleet)])),
    takeOver: start,
    close() {
      isClosed = true;
      for (const ofActor of running.values()) for (const { abort } of ofActor.values()) abort.abort(notNeeded);
      running.clear();
    },
  };
}
