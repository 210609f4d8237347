/** What the shared stream has told, to tell it to a page that joins. */
import type { Delta, Focus, Full, Hello, Topic } from '../../messages.ts';
import type { StreamEvent } from './event-stream.ts';
import { createMoves, lastOf } from './moves.ts';

type Tell = (message: { readonly event: StreamEvent; readonly text: string }) => void;
export const keyOf = ({ entity, id }: Topic): string => `${entity} ${id}`;

export function createKnownFleet() {
  const rows = { workers: new Map(), tasks: new Map(), queues: new Map() };
  const moves = createMoves();
  /** What was told last of each actor that the stream follows; '' before the first time. */
  const topics = new Map<string, string>();
  let hello: string | null = null;
  let replica: string | null = null;
  let head: Pick<Full, 'seq' | 'nowMs' | 'headSeq' | 'fault' | 'last'> | null = null;
  let seq: string | null = null;
  const clear = () => {
    for (const all of Object.values(rows)) all.clear();
    topics.clear();
    [hello, replica, head, seq] = [null, null, null, null];
  };
  const apply = (change: Full | Delta) => {
    for (const name of ['workers', 'tasks', 'queues'] as const)
      for (const row of change[name] ?? []) rows[name].set(row[0], row);
    const { nowMs, headSeq, fault } = change;
    const last = 'last' in change ? change.last : lastOf(head?.last ?? { w: null, t: null }, change.transitions ?? []);
    head = { seq: change.seq, nowMs, headSeq, fault, last };
  };
  return {
    seq: () => seq,
    clear,
    forgetSession(): void {
      hello = null;
    },
    /** @returns whether the stream comes from another replica */
    add(event: 'hello' | 'full' | 'delta', text: string, id: string): boolean {
      if (id !== '') seq = id;
      if (event === 'hello') {
        const from = (JSON.parse(text) as Hello).replica;
        const isOther = replica !== null && replica !== from && seq !== null;
        if (isOther) clear();
        [hello, replica] = [text, from];
        return isOther;
      }
      const change: Full | Delta = JSON.parse(text);
      if (event === 'full') {
        for (const all of Object.values(rows)) all.clear();
        moves.reset((change as Full).moves);
      } else moves.add(change.nowMs, (change as Delta).transitions ?? []);
      apply(change);
      return false;
    },
    addTopic(entity: Topic['entity'], text: string): string {
      const { id }: Focus = JSON.parse(text);
      const key = keyOf({ entity, id });
      topics.set(key, text);
      return key;
    },
    topic: (topic: Topic): string | undefined => topics.get(keyOf(topic)) || undefined,
    follows: (topic: Topic): boolean => topics.has(keyOf(topic)),
    follow(wanted: readonly Topic[]): void {
      const before = new Map(topics);
      topics.clear();
      for (const topic of wanted) topics.set(keyOf(topic), before.get(keyOf(topic)) ?? '');
    },
    introduce(tell: Tell): void {
      if (hello !== null) tell({ event: 'hello', text: hello });
      if (head === null) return;
      const [workers, tasks, queues] = [rows.workers, rows.tasks, rows.queues].map((all) => [...all.values()]);
      tell({ event: 'full', text: JSON.stringify({ ...head, workers, tasks, queues, moves: moves.all() }) });
    },
  };
}
