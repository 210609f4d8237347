/** Requests of one agent that keep their places: when one is answered, the buttons of the next stay where they are. */
import { useRef } from 'preact/hooks';
import type { WorkerView } from '../../../../machines/index.ts';
import { isPast } from '../data/past.ts';
import { keepOrder, type Placed } from '../ui/keep-order.ts';
import { hasMouse } from '../ui/use-held.ts';

export type InputRequest = WorkerView['inputs'][number];
/** `isGone`: it waits no more. */
export type PlacedRequest = Placed & { readonly input: InputRequest };

/** A finger gives no sign when it has left, so on a phone those that are gone stay: this many, to keep the list short. */
const goneMax = 12;

/** @param open those that wait @param isUsed somebody points at them; a jump in time moves them all the same */
export function usePlaces(open: readonly InputRequest[], isUsed: boolean): readonly PlacedRequest[] {
  const places = useRef<readonly PlacedRequest[]>([]);
  const known = new Map([...places.current.map(({ input }) => input), ...open].map((it) => [keyOf(it), it]));
  const keys = open.filter((it) => it.request !== null || !isCopy(it, known)).map(keyOf);
  const order = keepOrder(!isPast.value && (isUsed || !hasMouse.matches) ? places.current : [], keys);
  const gone = order.filter(({ isGone }) => isGone).slice(-goneMax);
  places.current = order
    .filter((it) => !it.isGone || gone.includes(it))
    .flatMap(({ key, isGone }) => {
      const input = known.get(key);
      return input === undefined ? [] : [{ key, isGone, input }];
    });
  return places.current;
}

const keyOf = ({ seq }: InputRequest): string => String(seq);

/** An agent may report a question and then, by another of its hooks, ask for its answer. */
const isCopy = ({ tool, detail }: InputRequest, known: ReadonlyMap<string, InputRequest>): boolean =>
  [...known.values()].some((it) => it.request !== null && it.tool === tool && it.detail === detail);
