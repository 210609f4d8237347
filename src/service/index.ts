/** Makes the service of a replica from its host and log. */
import type { Host } from '../host/host.ts';
import type { EventLog } from '../nats/event-log.ts';
import { createDecider } from './decide.ts';
import { createEvaluator } from './evaluate.ts';
import { createOperator } from './operate.ts';
import { createPublisher } from './publish.ts';
import { createReader } from './read.ts';
import { createResolution } from './resolution.ts';
import type { Service } from './service.ts';

export { createEndpoints } from './endpoints.ts';
export type { Service } from './service.ts';

export function createService(host: Host, log: EventLog, replica: string): Service {
  const reader = createReader(host);
  return {
    fleet: host.fleet.name,
    replica,
    ...createDecider(host, replica),
    ...createEvaluator(host),
    ...reader,
    ...createResolution(host, reader),
    ...createPublisher(host.fleet.name, log),
    ...createOperator(host, log),
    status() {
      const fault = host.fault();
      return {
        ready: fault === null,
        reason: fault?.message ?? null,
        code: fault?.code ?? null,
        foldedSeq: host.foldedSeq(),
        workers: host.fleet.workers.size,
        openAttempts: host.fleet.open.size,
      };
    },
  };
}
