/** What was heard of each actor. Bounded for each, so that one that talks a lot pushes out nothing of the others. */
import type { Frame } from './receiver.ts';
import { readStates, type StateNode } from './states.ts';

export type Heard = {
  readonly number: number;
  readonly atMs: number;
  readonly type: string;
  readonly from: string | null;
  readonly event: unknown;
};
export type Actor = {
  readonly id: string;
  name: string;
  parent: string | null;
  /** Null: no machine, or none that can be read. */
  states: StateNode | null;
  snapshot: Readonly<Record<string, unknown>> | null;
  /** Newest last. */
  readonly events: Heard[];
  /** How many events were heard in all. */
  heard: number;
};
export type Actors = Map<string, Actor>;

const actorsMax = 500;
const eventsMax = 200;
const nameLengthMax = 200;

export function hear(actors: Actors, frame: Frame): void {
  const actor = actors.get(frame.sessionId) ?? add(actors, frame.sessionId);
  if (frame.type === '@xstate.actor') {
    if (typeof frame.name === 'string') actor.name = frame.name.slice(0, nameLengthMax);
    actor.parent = typeof frame.parentId === 'string' ? frame.parentId : null;
    actor.states = typeof frame.definition === 'string' ? readStates(frame.definition) : null;
  }
  if (frame.type === '@xstate.event') note(actor, frame);
  if (typeof frame.snapshot === 'object' && frame.snapshot !== null)
    actor.snapshot = frame.snapshot as Actor['snapshot'];
}

function add(actors: Actors, id: string): Actor {
  if (actors.size >= actorsMax) {
    const ended = [...actors.values()].find(({ snapshot }) => snapshot !== null && snapshot.status !== 'active');
    actors.delete(ended?.id ?? (actors.keys().next().value as string));
  }
  const actor: Actor = {
    id,
    name: id.slice(0, nameLengthMax),
    parent: null,
    states: null,
    snapshot: null,
    events: [],
    heard: 0,
  };
  actors.set(id, actor);
  return actor;
}

function note(actor: Actor, { event, sourceId, createdAt }: Frame): void {
  const { type } = (typeof event === 'object' && event !== null ? event : {}) as { type?: unknown };
  actor.heard += 1;
  const atMs = Number(createdAt);
  actor.events.push({
    number: actor.heard,
    atMs: Number.isFinite(atMs) && atMs > 0 ? atMs : Date.now(),
    type: String(type ?? 'unknown').slice(0, nameLengthMax),
    from: typeof sourceId === 'string' ? sourceId : null,
    event,
  });
  if (actor.events.length > eventsMax) actor.events.shift();
}

/** Parents before their children, each with its depth. One whose parent was not heard of stands at the top. */
export function inOrder(actors: Actors): { actor: Actor; depth: number }[] {
  const children = new Map<string | null, Actor[]>();
  for (const actor of actors.values()) {
    const parent = actor.parent !== null && actors.has(actor.parent) ? actor.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), actor]);
  }
  const below = (parent: string | null, depth: number): { actor: Actor; depth: number }[] =>
    (children.get(parent) ?? []).flatMap((actor) => [{ actor, depth }, ...below(actor.id, depth + 1)]);
  const ordered = below(null, 0);
  // Two that name each other as parents have no top.
  const lost = [...actors.values()].filter((actor) => !ordered.some((it) => it.actor === actor));
  return [...ordered, ...lost.map((actor) => ({ actor, depth: 0 }))];
}
