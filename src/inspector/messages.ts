/** What the page hears and gets: the shapes of the stream and of the inspector's answers. Types only, for both sides. */
import type { TaskView, WorkerView } from '../../machines/index.ts';
import type { Rows } from './rows.ts';
import type { TimelineEntry } from './timeline.ts';

/** `operator`: this session may speak as one; `token`: some session may. */
export type Hello = {
  readonly fleet: string;
  readonly replica: string;
  readonly version: string;
  /** A worker that says nothing for so long is stale. */
  readonly staleAfterMs: number;
  readonly operator: boolean;
  readonly token: boolean;
};
type Head = { readonly seq: number; readonly nowMs: number; readonly headSeq: number };
export type Full = Head & Rows;
/** States as places in `workerStates`; `count`: how often since the last message. */
export type Move = readonly [machine: 'w' | 't', from: number, to: number, event: string, count: number];
/** `entries`: how many were folded since the last message. Lists without a change are left out. */
export type Delta = Head & Partial<Rows> & { readonly moves?: readonly Move[]; readonly entries: number };
/** The selected actor. `moved`: its last step; `more`: entries that were left out, since too many came at once. */
export type Focus<View = WorkerView | TaskView> = {
  readonly id: string;
  readonly view: View | null;
  readonly moved: { readonly from: string; readonly to: string; readonly event: string; readonly atMs: number } | null;
  readonly entries: readonly TimelineEntry[];
  readonly more: number;
};
export type StreamMessage =
  | { readonly event: 'hello'; readonly data: Hello }
  | { readonly event: 'full'; readonly data: Full }
  | { readonly event: 'delta'; readonly data: Delta }
  | { readonly event: 'worker'; readonly data: Focus<WorkerView> }
  | { readonly event: 'task'; readonly data: Focus<TaskView> };

type Moment = { readonly seq: number; readonly atMs: number; readonly entry: TimelineEntry | null };
/** `at/<seq>`: all actors, or the one that was asked for. */
export type PastFleet = Moment & Rows;
export type PastActor = Moment & { readonly view: WorkerView | TaskView };
export type TimelinePage = { readonly entries: readonly TimelineEntry[]; readonly before: number | null };
