/** Makes the service of a replica from its host and log. */
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
import type { RunnerSearch } from '../nats/bus.ts';
import type { EventLog } from '../nats/log/event-log.ts';
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

/** What every edge (NATS, HTTP, MCP, an agent's hooks) may ask of this replica. Each use case has a file in this folder. */
export type Service = {
  readonly fleet: string;
  readonly replica: string;
  /** Validates and stores an entry. @throws AppError input.bad, entry.large, log.unavailable, log.lost */
  publish(entry: NewEntry): Promise<{ seq: number }>;
  /** As `publish`, once it is folded. @throws AppError entry.refused too: it is stored, but not valid in the current state */
  submit(entry: NewEntry): Promise<{ seq: number }>;
  /**
   * May this worker stop? Takes as long as its checks and its hold take.
   * @throws AppError input.bad, entry.large, log.unavailable, log.lost, service.busy
   */
  decide(worker: string, body: unknown): Promise<Decision>;
  /** Might it? Nothing is logged or counted. `scope` is not on the wire: agents' hooks ask about single steps. */
  probe(worker: string, body: unknown, scope?: ProbeScope): Promise<Decision>;
  /** Is its work complete? @throws AppError actor.unknown; stop.incomplete with `details: { decision }` */
  verify(worker: string, body: unknown): Promise<Decision>;
  /**
   * Is this task complete?
   * @throws AppError actor.unknown; stop.incomplete with `details`: `{ decision }` if it is held, `{ said: true }` if its
   * worker only said so
   */
  verifyTask(task: string, body: unknown): Promise<Decision>;
  /**
   * Claims the first ready task of a queue for the worker. `body`: `{ queue?, request? }`.
   * @throws AppError input.bad, entry.refused, log.unavailable, service.busy
   */
  claimNext: ClaimNext;
  /** Lets the hooks of this task decide its iteration, and logs that. @throws AppError input.bad, entry.refused, log.unavailable */
  evaluate(task: string, body: unknown): Promise<HookResult>;
  /**
   * `body` of a task: `{ checkpoint? }`, the one to show whole; by default the last. `{ entry }`: was this entry refused?
   * @throws AppError actor.unknown, entry.refused
   */
  get(entity: Entity, id: string, body?: unknown): Promise<View | TaskDetail | EntryStanding>;
  /** `escalations`: all that waits for a person. @throws AppError input.bad */
  list(name: ListName, body: unknown): Promise<Page>;
  /** For an operator, which the edge has checked. @throws AppError input.bad, actor.unknown, entry.refused */
  operate(action: OperatorAction, body: unknown): Promise<{ seq: number; view: WorkerView | TaskView | QueueView }>;
  /** The worker as soon as it is not escalated (any more), or as it is when `signal` fires. @throws AppError actor.unknown */
  untilResolved(worker: string, signal: AbortSignal): Promise<WorkerView>;
  /** An operator's answer to the agent's request. Null: it is over without one, or `signal` fired. */
  untilAnswered(
    worker: string,
    question: { readonly request: string; readonly seq: number },
    signal: AbortSignal,
  ): Promise<InputAnswer | null>;
  /**
   * The worker as this replica has folded it, at least up to entry `seq`; what others store just now may be missing.
   * For what is read at every turn of an agent: `get` asks the log first. Null: unknown.
   */
  peek(worker: string, seq: number): Promise<WorkerView | null>;
  /** What judges this worker, as this replica has folded it. */
  judging(worker: string): Judging;
  /** The policy that the next session of this agent gets, if its hooks name `policy` (null: none). */
  sessionPolicy(agent: string, policy: string | null): SessionPolicy;
  status(): ServiceStatus;
  /**
   * Returns the runners that policies name and nobody serves, sorted. If NATS does not answer, none is listed. It takes
   * a second at most.
   */
  missingRunners(): Promise<readonly string[]>;
};

export function createService(host: Host, log: EventLog, replica: string, search: RunnerSearch): Service {
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
