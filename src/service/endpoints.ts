/** The NATS endpoints of protocol.md §2. Each reads its subject and body and calls the service. */
import { readJson } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { type Endpoint, type Request, replyLater } from '../nats/request-server.ts';
import { decideRequest } from './decide.ts';
import type { Service } from './index.ts';
import { listNames } from './list.ts';
import { checkBytes } from './parse-input.ts';
import { entities } from './views.ts';

export function createEndpoints(service: Service, host: Host): Endpoint[] {
  const handled = (name: string, handle: Endpoint['handle']): Endpoint => ({
    name,
    subject: `stopgate.${service.fleet}.${name}`,
    handle,
    data() {
      const { ready, foldedSeq, lag } = service.status();
      return { ready, foldedSeq, lag };
    },
  });
  const endpoint = (name: string, reply: (tail: string, body: object) => Promise<object>): Endpoint =>
    handled(
      name,
      replyLater(async (request) => reply(request.tail, readBody(request))),
    );
  return [
    handled('decide', decideRequest(host)),
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
  if (found === undefined) throw new AppError('input.bad', `'${given}' must be one of ${known.join(', ')}`);
  return found;
}
