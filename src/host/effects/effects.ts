/**
 * Effects: performs what the fold asks for and is this replica's to do, and stores the answers. The state says what is
 * asked for (`effectsOf`): once a turn, at the log's head, whatever is asked for and not under way is started, and
 * whatever is under way and no longer asked for is aborted. Behind the head nothing is done.
 */
import { actorsWithEffects, type Effect, effectsOf, type Fleet, isAskedFor } from '../../../machines/index.ts';
import { notNeeded } from '../../timer.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { OwnEntries, OwnEntry } from '../own-entries.ts';

/** The entry that answers an effect. It is stored under the effect's key. */
export type Answer = Pick<OwnEntry, 'tail' | 'data' | 'onRefused'>;

export type Run = {
  /** Aborted when the effect is not asked for any more, is another replica's now, or has been given back. */
  readonly signal: AbortSignal;
  /** Tells whether the fold asks for it now; `signal` follows once a turn. */
  readonly isNeeded: () => boolean;
  /** Ends this run without an answer. The effect is started again if it is asked for at the head. */
  readonly giveBack: () => void;
};

export type Performer<It extends Effect> = {
  /** Every replica starts it and waits for its turn by itself; else its owner alone does. */
  readonly standsBy: boolean;
  /** Resolves with the answer; null: there is none, since the run has ended. Never rejects. */
  perform(effect: It, run: Run): Promise<Answer | null>;
};

/** One row for each kind of effect. */
export type Performers = { readonly [Kind in Effect['kind']]: Performer<Extract<Effect, { readonly kind: Kind }>> };

export type Effects = {
  /** The fold has changed what these actors ask for. */
  touch(actors: Iterable<string>): void;
  /** The log's head is reached: compares all that is asked for with all that is under way. */
  open(): void;
  /** Starts an effect of a replica that is gone. */
  takeOver(effect: Effect): void;
  /** Aborts all, and starts none. */
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
  /** The effects under way, by actor, then by the effect's key. */
  const running = new Map<string, Map<string, Running>>();
  const touched = new Set<string>();
  let isArmed = false;
  let isClosed = false;

  const remove = (actor: string, key: string) => {
    const ofActor = running.get(actor);
    ofActor?.delete(key);
    if (ofActor?.size === 0) running.delete(actor);
  };
  const run = async (effect: Effect, it: Running) => {
    const { actor, key } = effect;
    const { signal } = it.abort;
    const isNeeded = () => !signal.aborted && isAskedFor(fleet, effect);
    const giveBack = () => {
      if (signal.aborted) return;
      remove(actor, key);
      it.abort.abort(notNeeded);
      touch([actor]);
    };
    const answer = await performers[effect.kind].perform(effect as never, { signal, isNeeded, giveBack });
    if (answer !== null) await entries.untilFolded({ messageId: key, isNeeded, ...answer });
  };
  const start = (effect: Effect) => {
    const { actor, key, owner } = effect;
    const ofActor = running.get(actor) ?? new Map<string, Running>();
    // What is folded while this replica leaves is for the others.
    if (isClosed || ofActor.has(key)) return;
    const it = { owner, abort: new AbortController() };
    running.set(actor, ofActor.set(key, it));
    void run(effect, it);
  };
  const sync = (actors: Iterable<string>) => {
    for (const actor of actors) {
      const asked = effectsOf(fleet, [actor]);
      for (const [key, { owner, abort }] of running.get(actor) ?? []) {
        const still = asked.find((effect) => effect.key === key);
        if (still !== undefined && (performers[still.kind].standsBy || still.owner === owner)) continue;
        remove(actor, key);
        abort.abort(notNeeded);
      }
      for (const effect of asked) if (performers[effect.kind].standsBy || effect.owner === replica) start(effect);
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
