/** A foreign machine's definition as nested states, and which of them are active. Reads what it can, and never throws. */

export type Transition = { readonly on: string; readonly guard: string | null; readonly to: readonly string[] };
export type StateNode = {
  /** Keys from the root, joined by dots; '' for the root itself. */
  readonly path: string;
  /** As other states may target it; null: it has none of its own. */
  readonly id: string | null;
  readonly name: string;
  readonly kind: string | null;
  readonly initial: boolean;
  readonly transitions: readonly Transition[];
  readonly states: readonly StateNode[];
};

const depthMax = 12;
const statesMax = 500;

/** @param definition JSON of a machine's configuration. @returns null: it has no states */
export function readStates(definition: string): StateNode | null {
  try {
    const config = objectOf(JSON.parse(definition));
    let left = statesMax;
    const read = (it: Fields, path: readonly string[], initial: boolean): StateNode => ({
      path: path.join('.'),
      id: typeof it.id === 'string' ? it.id : null,
      name: path.at(-1) ?? String(it.id ?? 'machine'),
      kind: typeof it.type === 'string' && it.type !== 'atomic' && it.type !== 'compound' ? it.type : null,
      initial,
      transitions: transitionsOf(it),
      // The initial state first; senders sort states by name.
      states: Object.entries(path.length < depthMax ? objectOf(it.states) : {})
        .sort(([one], [other]) => Number(other === it.initial) - Number(one === it.initial))
        .flatMap(([key, state]) => {
          left -= 1;
          return left < 0 ? [] : [read(objectOf(state), [...path, key], it.initial === key)];
        }),
    });
    const root = read(config, [], false);
    return root.states.length === 0 ? null : root;
  } catch {
    return null;
  }
}

/** The paths of all active states, from a snapshot's `value`. */
export function activePaths(value: unknown, above: readonly string[] = []): ReadonlySet<string> {
  if (typeof value === 'string') return new Set([[...above, value].join('.')]);
  if (above.length >= depthMax) return new Set();
  return new Set(
    Object.entries(objectOf(value)).flatMap(([key, inner]) => {
      const path = [...above, key];
      return [path.join('.'), ...activePaths(inner, path)];
    }),
  );
}

type Fields = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

const transitionsOf = ({ on, always, after, onDone, invoke }: Fields): Transition[] => [
  ...Object.entries(objectOf(on)).flatMap(([event, it]) => read(event, it)),
  ...read('always', always),
  ...Object.entries(objectOf(after)).flatMap(([delay, it]) => read(`after ${delay}`, it)),
  ...read('done', onDone),
  ...listOf(invoke).flatMap((it) => [
    ...read('invoked: done', objectOf(it).onDone),
    ...read('invoked: error', objectOf(it).onError),
  ]),
];

const read = (on: string, transitions: unknown): Transition[] =>
  listOf(transitions).map((it) => {
    const { target, guard } = typeof it === 'string' ? { target: it, guard: undefined } : objectOf(it);
    return { on, guard: guardName(guard), to: listOf(target).filter((name) => typeof name === 'string') };
  });

function guardName(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  const { type } = objectOf(guard);
  const name = typeof guard === 'string' ? guard : type;
  return typeof name === 'string' && name !== '' ? name : 'guard';
}
