/** Makes the service of a replica from its host and log. */
import type { Host } from '../host/host.ts';
import type { RunnerSearch } from '../nats/bus.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { createClaimNext } from './claim-next.ts';
import { decide, evaluate, probeWorker } from './decide.ts';
import { list } from './list.ts';
import { createOperate } from './operate.ts';
import { publish, submit } from './publish.ts';
import type { Service } from './service.ts';
import { verify, verifyTask } from './verify.ts';
import { get, missingRunners, peek, sessionPolicy, statusOf } from './views.ts';
import { untilAnswered, untilResolved } from './waits.ts';

export { createEndpoints } from './endpoints.ts';

export type { Service } from './service.ts';

export function createService(host: Host, log: EventLog, replica: string, search: RunnerSearch): Service {
  const fleet = host.fleet.name;
  const claimNext = createClaimNext(host, log);
  const operate = createOperate(host, log);
  return {
    fleet,
    replica,
    decide: (worker, body) => decide(host, worker, body),
    probe: (worker, body, scope) => host.read(worker, () => probeWorker(host, replica, worker, body, scope)),
    verify: (worker, body) => host.read(worker, () => verify(host, replica, worker, body)),
    verifyTask: (task, body) => host.read(null, () => verifyTask(host, replica, task, body)),
    claimNext: (worker, body) => host.write(worker, () => claimNext(worker, body)),
    evaluate: (task, body) => evaluate(host, task, body),
    get: (entity, id, body) => host.read(null, () => get(host, entity, id, body)),
    list: (name, body) => host.read(null, () => list(host, name, body)),
    peek: (worker, seq) => peek(host, worker, seq),
    publish: (entry) => host.write(entry.id, () => publish(fleet, log, entry)),
    submit: (entry) => host.write(entry.id, () => submit(host, log, entry)),
    operate: (action, body) => host.write('operator', () => operate(action, body)),
    untilResolved: (worker, signal) => untilResolved(host, worker, signal),
    untilAnswered: (worker, question, signal) => untilAnswered(host, worker, question, signal),
    sessionPolicy: (agent, policy) => sessionPolicy(host, agent, policy),
    status: () => statusOf(host),
    missingRunners: () => missingRunners(host, search),
  };
}
export { snapshotEndpoint } from './decide.ts';
