/** The port of a separate process: sends requests over NATS. It connects on first use and again after a disconnect. */
import type { Requester, RequestVerb } from '../nats/requester.ts';
import { checkEntry } from '../service/publish.ts';
import type { ServicePort } from './service-port.ts';

/** Checks and remote hooks may be slow. A hold comes on top. */
const decisionTimeoutMs = 600_000;
const queryTimeoutMs = 5_000;

export type NatsPort = ServicePort & { close(): Promise<void> };

/** @param open finds the service and connects; called again after a disconnect. @throws AppError service.unreachable */
export function createNatsPort(fleet: string, open: () => Promise<Requester>): NatsPort {
  let current: Promise<Requester> | null = null;
  const connected = (): Promise<Requester> => {
    if (current !== null) return current;
    const mine = open();
    current = mine;
    const forget = () => {
      if (current === mine) current = null;
    };
    mine.then((requester) => requester.closed.then(forget), forget);
    return mine;
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
