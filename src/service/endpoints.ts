/** The requests of protocol.md §2 as endpoints on the bus: each reads its subject and body and calls the service. */
import { readJson } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { encodeDecision } from '../host/fold/outbox.ts';
import type { Endpoint, Request } from '../nats/request-server.ts';
import { listNames } from './list.ts';
import { checkBytes } from './parse-input.ts';
import type { Service } from './service.ts';
import { entities } from './views.ts';

export function createEndpoints(service: Service): Endpoint[] {
  const endpoint = (name: string, handle: (tail: string, body: object) => Promise<object | Uint8Array>): Endpoint => ({
    name,
    subject: `stopgate.${service.fleet}.${name}`,
    handle: async (request) => handle(request.tail, readBody(request)),
    data() {
      const { ready, foldedSeq, lag } = service.status();
      return { ready, foldedSeq, lag };
    },
  });
  return [
    endpoint('decide', async (worker, body) => encodeDecision(await service.decide(worker, body))),
    endpoint('probe', (worker, body) => service.probe(worker, body)),
    endpoint('verify', (worker, body) => service.verify(worker, body)),
    endpoint('verify-task', (task, body) => service.verifyTask(task, body)),
    endpoint('claim-next', (worker, body) => service.claimNext(worker, body)),
    endpoint('evaluate', (task, body) => service.evaluate(task, body)),
    endpoint('get', (tail, body) => {
      const [entity = '', id = '', ...more] = tail.split('.');
      if (more.length > 0) throw new AppError('input.bad', `'get.${tail}' is not get.<entity>.<id>`);
      return service.get(entityNamed(entity, entities), id, body);
    }),
    endpoint('list', (tail, body) => service.list(entityNamed(tail, listNames), body)),
  ];
}

function readBody({ text, bytes }: Request): object {
  checkBytes('request', bytes);
  const parsed = readJson(text);
  if (!parsed.ok) throw new AppError('input.bad', parsed.message);
  return parsed.value;
}

function entityNamed<Name extends string>(given: string, known: readonly Name[]): Name {
  const found = known.find((name) => name === given);
  if (found === undefined) throw new AppError('input.bad', `'${given}' is none of ${known.join(', ')}`);
  return found;
}
