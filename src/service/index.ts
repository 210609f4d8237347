/** Creates the service of a replica from its host and log. */
import type {
  Decision,
  HookResult,
  InputAnswer,
  ProbeScope,
  QueueView,
  TaskDetail,
  TaskView,
  WorkerView,
} from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { FindMissingRunners } from '../nats/missing-runners.ts';
import { type ClaimNext, createClaimNext } from './claim-next.ts';
import { decide } from './decide.ts';
import { evaluate } from './evaluate.ts';
import { type EntryStanding, get, peek } from './get.ts';
import { type ListName, list, type Page } from './list.ts';
import { createOperate, type OperatorAction } from './operate.ts';
import { probeWorker } from './probe.ts';
import { type NewEntry, publish, submit } from './publish.ts';
import { type Judging, judgingOf, type SessionPolicy, sessionPolicy } from './session-policy.ts';
import { missingRunners, type ServiceStatus, statusOf } from './status.ts';
import { verify, verifyTask } from './verify.ts';
import type { Entity, View } from './views.ts';
import { untilAnswered, untilResolved } from './waits.ts';

/** The use cases that every edge (NATS, HTTP, MCP, an agent's hooks) calls. Each has a file in this folder. */
export type Service = {
  readonly fleet: string;
  readonly replica: string;
  /** Validates and stores an entry. @throws AppError input.bad, entry.large, log.unavailable or log.lost */
  publish(entry: NewEntry): Promise<{ seq: number }>;
  /**
   * Like `publish`, but waits for the fold.
   * @throws AppError as `publish`; entry.refused if the entry is stored but not valid in the current state
   */
  submit(entry: NewEntry): Promise<{ seq: number }>;
  /**
   * May this worker stop? Takes as long as its checks and its hold.
   * @throws AppError input.bad, entry.large, log.unavailable, log.lost or service.busy
   */
  decide(worker: string, body: unknown): Promise<Decision>;
  /** Like `decide`, but stores and counts nothing. `scope` is not on the wire: agents' hooks ask about single steps. */
  probe(worker: string, body: unknown, scope?: ProbeScope): Promise<Decision>;
  /** Is the worker's work complete? @throws AppError actor.unknown, or stop.incomplete with `details: { decision }` */
  verify(worker: string, body: unknown): Promise<Decision>;
  /**
   * Is this task complete?
   * @throws AppError actor.unknown, or stop.incomplete with `details`: `{ decision }` if the task is held,
   * `{ said: true }` if only its worker reported it as completed
   */
  verifyTask(task: string, body: unknown): Promise<Decision>;
  /**
   * Claims the first ready task of a queue for the worker. `body` is `{ queue?, request? }`.
   * @throws AppError input.bad, entry.refused, log.unavailable or service.busy
   */
  claimNext: ClaimNext;
  /**
   * Lets the task's hooks judge its iteration, and stores the result.
   * @throws AppError input.bad, entry.refused, log.unavailable
   */
  evaluate(task: string, body: unknown): Promise<HookResult>;
  /**
   * `body` is `{ checkpoint? }` for a task: the checkpoint to show in full (default: the last). Or `{ entry }`, to ask
   * whether that entry was refused.
   * @throws AppError actor.unknown or entry.refused
   */
  get(entity: Entity, id: string, body?: unknown): Promise<View | TaskDetail | EntryStanding>;
  /** `escalations` lists everything that waits for a person. @throws AppError input.bad */
  list(name: ListName, body: unknown): Promise<Page>;
  /** For operators only: the edge checks that. @throws AppError input.bad, actor.unknown or entry.refused */
  operate(action: OperatorAction, body: unknown): Promise<{ seq: number; view: WorkerView | TaskView | QueueView }>;
  /** Resolves to the worker once it is not escalated, or when `signal` aborts. @throws AppError actor.unknown */
  untilResolved(worker: string, signal: AbortSignal): Promise<WorkerView>;
  /**
   * Resolves to an operator's answer to the agent's request. Null if the request ends without one, or `signal` aborts.
   */
  untilAnswered(
    worker: string,
    question: { readonly request: string; readonly seq: number },
    signal: AbortSignal,
  ): Promise<InputAnswer | null>;
  /**
   * Returns the worker as folded here, at least up to entry `seq`, or null if unknown. Cheaper than `get`, which asks
   * the log for its head first, but newer entries may be missing. Used at every turn of an agent.
   */
  peek(worker: string, seq: number): Promise<WorkerView | null>;
  /** Returns which checks and hooks judge this worker, as folded here. */
  judging(worker: string): Judging;
  /** Returns the policy of the next session of this agent. `policy` is the one that its hooks name, or null. */
  sessionPolicy(agent: string, policy: string | null): SessionPolicy;
  status(): ServiceStatus;
  /**
   * Returns the runners that policies name but nobody serves, sorted. Empty if NATS does not answer. Takes at most a
   * second.
   */
  missingRunners(): Promise<readonly string[]>;
};

export function createService(host: Host, log: EventLog, replica: string, search: FindMissingRunners): Service {
  const fleet = host.fleet.name;
  const claimNext = createClaimNext(host, log);
  const operate = createOperate(host, log);
  return {
    fleet,
    replica,
    decide: (worker, body) => decide(host, worker, body),
    probe: (worker, body, scope) =>
      host.probe(worker, (signal) => probeWorker(host, replica, worker, body, { signal, scope })),
    verify: (worker, body) => host.probe(worker, (signal) => verify(host, replica, worker, body, signal)),
    verifyTask: (task, body) => host.probe(task, (signal) => verifyTask(host, replica, task, body, signal)),
    claimNext: (worker, body) => host.write(worker, () => claimNext(worker, body)),
    evaluate: (task, body) => evaluate(host, task, body),
    get: (entity, id, body) => host.read(() => get(host, entity, id, body)),
    list: (name, body) => host.read(() => list(host, name, body)),
    peek: (worker, seq) => peek(host, worker, seq),
    publish: (entry) => host.write(entry.id, () => publish(fleet, log, entry)),
    submit: (entry) => host.write(entry.id, () => submit(host, log, entry)),
    operate: (action, body) => host.write('operator', () => operate(action, body)),
    untilResolved: (worker, signal) => untilResolved(host, worker, signal),
    untilAnswered: (worker, question, signal) => untilAnswered(host, worker, question, signal),
    judging: (worker) => judgingOf(host.fleet, worker),
    sessionPolicy: (agent, policy) => sessionPolicy(host, agent, policy),
    status: () => statusOf(host),
    missingRunners: () => missingRunners(host, search),
  };
}
