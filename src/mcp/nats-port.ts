/** The MCP tools' port to the service, and its implementation over NATS for a separate process. */
import type { Decision, HookResult } from '../../machines/index.ts';
import type { Requester, RequestVerb } from '../nats/requester.ts';
import type { ClaimedNext } from '../service/claim-next.ts';
import type { EntryStanding, TaskDetailView } from '../service/get.ts';
import type { OperatorAction } from '../service/operate.ts';
import { checkEntry, type NewEntry } from '../service/publish.ts';
import type { Entity, View } from '../service/views.ts';

/** The calls that the tools need. Provided by a `Service` in the same process, or by a connection over NATS. */
export type ServicePort = {
  readonly fleet: string;
  /** Validates and stores an entry. @throws AppError input.bad, entry.large, log.unavailable or service.unreachable */
  publish(entry: NewEntry): Promise<{ readonly seq: number }>;
  decide(worker: string, body: object): Promise<Decision>;
  probe(worker: string, body: object): Promise<Decision>;
  /** @throws AppError stop.incomplete with `details: { decision }` */
  verify(worker: string, body: object): Promise<Decision>;
  /** @throws AppError actor.unknown, or stop.incomplete with `details`: `{ decision?, said? }` */
  verifyTask(task: string, body: object): Promise<Decision>;
  /** Claims the first ready task of a queue. @throws AppError entry.refused */
  claimNext(worker: string, body: object): Promise<ClaimedNext>;
  /** Evaluates the hooks of a task. @throws AppError entry.refused */
  evaluate(task: string, body: object): Promise<HookResult>;
  /**
   * `body` is `{ checkpoint?: id }` for a task, or `{ entry: seq }` to ask whether an entry was refused.
   * @throws AppError actor.unknown or entry.refused
   */
  get(entity: Entity, id: string, body?: object): Promise<View | TaskDetailView | EntryStanding>;
  /** Present only for an operator. @throws AppError input.bad, actor.unknown or entry.refused */
  operate?(action: OperatorAction, body: object): Promise<{ readonly view: unknown }>;
};

/** Checks and remote hooks may be slow. The time of a hold is added. */
const decisionTimeoutMs = 600_000;
const queryTimeoutMs = 5_000;

export type NatsPort = ServicePort & { close(): Promise<void> };

/** @param open finds the service and connects. Called on first use and after each disconnect */
export function createNatsPort(fleet: string, open: () => Promise<Requester>): NatsPort {
  let current: Promise<Requester> | null = null;
  const connected = (): Promise<Requester> => {
    if (current !== null) return current;
    const opening = open();
    current = opening;
    const forget = () => {
      if (current === opening) current = null;
    };
    opening.then((requester) => requester.closed.then(forget), forget);
    return opening;
  };
  const request = async <Reply>(verb: RequestVerb, tail: string, body: object, timeoutMs: number): Promise<Reply> =>
    (await (await connected()).request(verb, tail, body, timeoutMs)) as Reply;
  const decision =
    <Reply>(verb: RequestVerb) =>
    (id: string, body: object): Promise<Reply> =>
      request(verb, id, body, decisionTimeoutMs + ('holdMs' in body ? Number(body.holdMs ?? 0) : 0));
  return {
    fleet,
    async publish(entry) {
      checkEntry(fleet, entry);
      const { entity, id, type, data, messageId } = entry;
      return (await connected()).publish(`${entity}.${id}.${type}`, data, messageId);
    },
    decide: decision('decide'),
    probe: decision('probe'),
    verify: decision('verify'),
    verifyTask: decision('verify-task'),
    claimNext: (worker, body) => request('claim-next', worker, body, queryTimeoutMs),
    evaluate: decision('evaluate'),
    get: (entity, id, body = {}) => request('get', `${entity}.${id}`, body, queryTimeoutMs),
    async close() {
      await current?.then(
        (requester) => requester.close(),
        () => undefined,
      );
    },
  };
}
