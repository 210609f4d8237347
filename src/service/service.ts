/** What every edge (NATS, HTTP, MCP) may ask of this replica. Implemented in this folder, one use case a file. */
import type {
  Decision,
  HookResult,
  ProbeScope,
  QueueView,
  TaskDetail,
  TaskView,
  WorkerView,
} from '../../machines/index.ts';
import type { ErrorCode } from '../errors.ts';
import type { OperatorWord } from './operate.ts';

export type Entity = 'worker' | 'task' | 'queue';
export type View = WorkerView | TaskView | QueueView;

/** An entry to store: `type` is `<noun>.<verb>`. `messageId`: the same twice within 2 minutes is stored once. */
export type NewEntry = {
  readonly entity: Entity;
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly messageId?: string;
};

export type Service = {
  readonly fleet: string;
  readonly replica: string;
  /** Validates and stores an entry. @throws AppError input.bad, payload.large, log.unavailable, log.lost */
  publish(entry: NewEntry): Promise<{ seq: number }>;
  /** May this worker stop? Takes as long as its checks and hold take. @throws AppError input.bad, log.unavailable, log.lost, service.busy */
  decide(worker: string, body: unknown): Promise<Decision>;
  /** Would it? Nothing is logged or counted. `scope` is not on the wire: agents' hooks ask about single steps. */
  probe(worker: string, body: unknown, scope?: ProbeScope): Promise<Decision>;
  /** Is its work complete? @throws AppError stop.incomplete with `details: { decision }` */
  verify(worker: string, body: unknown): Promise<Decision>;
  /** What do the hooks of this task say of its iteration? Logged. @throws AppError input.bad, entry.refused, log.unavailable */
  evaluate(task: string, body: unknown): Promise<HookResult>;
  /** `body` of a task: `{ checkpoint? }`, the one to show whole; by default the last. @throws AppError actor.unknown */
  get(entity: Entity, id: string, body?: unknown): Promise<View | TaskDetail>;
  /** An operator's word; the edge has checked that one says it. @throws AppError input.bad, actor.unknown, entry.refused */
  operate(word: OperatorWord, body: unknown): Promise<{ seq: number; view: View }>;
  /** The worker as soon as it is not escalated (any more), or as it is when `signal` fires. @throws AppError actor.unknown */
  untilResolved(worker: string, signal: AbortSignal): Promise<WorkerView>;
  /**
   * The worker as this replica has folded it, at least up to entry `seq`; what others store just now may be missing.
   * For whoever asks at every turn of an agent: a read by `get` asks the log first. Null: unknown.
   */
  peek(worker: string, seq: number): Promise<WorkerView | null>;
  list(entity: Entity, body: unknown): Promise<{ items: View[]; next: string | null }>;
  status(): ServiceStatus;
};

export type ServiceStatus = {
  /** False: requests get 503, `reason` says why. */
  readonly ready: boolean;
  readonly reason: string | null;
  /** `log.lost` needs a person; `log.unavailable` may pass. */
  readonly code: ErrorCode | null;
  readonly foldedSeq: number;
  readonly workers: number;
  readonly openAttempts: number;
};
