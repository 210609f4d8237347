/**
 * Defines what the tools need from the service: a `Service` in the same process provides it, or a connection over NATS.
 */
import type { Decision, HookResult, TaskDetail } from '../../machines/index.ts';
import type { Entity, View } from '../service/actor.ts';
import type { ClaimedNext } from '../service/claim-next.ts';
import type { NewEntry } from '../service/publish.ts';

export type ServicePort = {
  readonly fleet: string;
  /** Validates and stores an entry. @throws AppError input.bad, entry.large, log.unavailable, service.unreachable */
  publish(entry: NewEntry): Promise<{ readonly seq: number }>;
  decide(worker: string, body: object): Promise<Decision>;
  probe(worker: string, body: object): Promise<Decision>;
  /** @throws AppError stop.incomplete with `details: { decision }` */
  verify(worker: string, body: object): Promise<Decision>;
  /** @throws AppError actor.unknown; stop.incomplete with `details`: `{ decision?, said? }` */
  verifyTask(task: string, body: object): Promise<Decision>;
  /** The first ready task of a queue. @throws AppError entry.refused */
  claimNext(worker: string, body: object): Promise<ClaimedNext>;
  /** Evaluates the hooks of a task. @throws AppError entry.refused */
  evaluate(task: string, body: object): Promise<HookResult>;
  /** `body` for a task: `{ checkpoint?: id }`. @throws AppError actor.unknown */
  get(entity: Entity, id: string, body?: object): Promise<View | TaskDetail>;
};
