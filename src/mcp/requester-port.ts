/** The port of a process of its own: asks over NATS, connects when it is first needed, and again after a loss. */
import type { Requester, RequestVerb } from '../nats/requester.ts';
import { checkEntry } from '../service/publish.ts';
import type { McpPort } from './port.ts';

/** Checks and remote hooks may be slow, and a decision may be held. */
const judgingMs = 600_000;
const lookingMs = 5_000;

export type RequesterPort = McpPort & { close(): Promise<void> };

/** @param open looks anew where the service is, and connects. @throws AppError service.unreachable */
export function createRequesterPort(fleet: string, open: () => Promise<Requester>): RequesterPort {
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
  const ask = async <Answer>(verb: RequestVerb, tail: string, body: object, timeoutMs: number): Promise<Answer> =>
    (await (await connected()).request(verb, tail, body, timeoutMs)) as Answer;
  const judge =
    <Answer>(verb: RequestVerb) =>
    (id: string, body: object): Promise<Answer> =>
      ask(verb, id, body, judgingMs + ('holdMs' in body ? Number(body.holdMs ?? 0) : 0));
  return {
    fleet,
    async publish(entry) {
      checkEntry(fleet, entry);
      const { entity, id, type, data, messageId } = entry;
      return (await connected()).publish(`${entity}.${id}.${type}`, data, messageId);
    },
    decide: judge('decide'),
    probe: judge('probe'),
    verify: judge('verify'),
    evaluate: judge('evaluate'),
    get: (entity, id, body = {}) => ask('get', `${entity}.${id}`, body, lookingMs),
    async close() {
      await current?.then(
        (requester) => requester.close(),
        () => undefined,
      );
    },
  };
}
