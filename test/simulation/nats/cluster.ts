/**
 * What three nodes do and one does not, for each stream: its leader changes, and consumers are on any node.
 *
 * A leader that is cut off from its followers knows it only later. What it takes until then is stored after all, or is
 * not, and nobody is told; asked about the stream, it answers without what others have stored since. Then there is no
 * leader for a while, and nobody takes anything.
 */
import type { Random } from '../random.ts';
import type { Process, Scheduler } from '../scheduler.ts';
import type { Stream } from './store.ts';

export type Leadership = 'led' | 'cutOff' | 'none';

export type Cluster = {
  leadershipOf(name: string): Leadership;
  /** The stream as whoever answers for it sees it. */
  viewOf(stream: Stream): Stream;
  /** For so long it is cut off, and then there is none. */
  changeLeader(stream: Stream, times: { readonly cutOffMs: number; readonly noneMs: number }): void;
  /** How far behind the node is on which a new consumer is. */
  lagMs(): number;
};

type Change = { leadership: Leadership; readonly seq: number };

/** A server of its own: one node, which leads for ever. */
export const oneNode: Cluster = {
  leadershipOf: () => 'led',
  viewOf: (stream) => stream,
  changeLeader() {},
  lagMs: () => 0,
};

const lagMsMax = 800;

export function createCluster(scheduler: Scheduler, random: Random, process: Process): Cluster {
  const changes = new Map<string, Change>();
  return {
    leadershipOf: (name) => changes.get(name)?.leadership ?? 'led',
    viewOf(stream) {
      const change = changes.get(stream.config.name);
      if (change?.leadership !== 'cutOff' || change.seq >= stream.lastSeq) return stream;
      const messages = stream.messages.filter(({ seq }) => seq <= change.seq);
      return { ...stream, messages, lastSeq: change.seq, lastMs: messages.at(-1)?.atMs ?? 0 };
    },
    changeLeader({ config: { name }, lastSeq }, { cutOffMs, noneMs }) {
      const change: Change = { leadership: 'cutOff', seq: lastSeq };
      changes.set(name, change);
      const next = (leadership: Leadership) => {
        if (changes.get(name) === change) change.leadership = leadership;
      };
      scheduler.after(process, cutOffMs, () => next('none'));
      scheduler.after(process, cutOffMs + noneMs, () => next('led'));
    },
    lagMs: () => (random.chance(0.5) ? 0 : random.spread(1, lagMsMax)),
  };
}
