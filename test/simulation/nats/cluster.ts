/**
 * Simulates three nodes: streams change their leader, and consumers may be on any node.
 *
 * A leader that is cut off from its followers notices it late. Messages that it accepts until then may or may not be
 * stored, without an acknowledgement, and its replies about the stream lack the messages that others have stored since.
 * Then there is no leader for a while, and nothing is stored.
 */
import type { Random } from '../random.ts';
import type { Process, Scheduler } from '../scheduler.ts';
import type { Stream } from './store.ts';

export type Leadership = 'led' | 'cutOff' | 'none';

export type Cluster = {
  leadershipOf(name: string): Leadership;
  /** The stream as seen by the node that answers requests about it. */
  viewOf(stream: Stream): Stream;
  /** Cuts the leader off for `cutOffMs`, followed by `noneMs` without a leader. */
  changeLeader(stream: Stream, times: { readonly cutOffMs: number; readonly noneMs: number }): void;
  /** How far the node of a new consumer lags behind, in milliseconds. */
  lagMs(): number;
};

type Change = { leadership: Leadership; readonly seq: number };

/** A single server, which is always the leader. */
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
