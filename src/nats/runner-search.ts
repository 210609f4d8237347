/** Finds out which runners nobody serves, without sending them anything: a runner of one's own may work on all it gets. */
import { type NatsConnection, NoRespondersError } from '@nats-io/nats-core';

/**
 * @returns those of `names` that nobody serves, or that cannot be discovered (NATS micro, ADR-32). Without any answer it
 *   is not known, and none is given.
 */
export type RunnerSearch = (names: readonly string[]) => Promise<readonly string[]>;

/** A readiness probe comes every few seconds, from several load balancers. */
const keptMs = 10_000;
/** A probe waits for this, so it is shorter than the timeouts of load balancers. */
const answerMs = 500;
const runnersMax = 1_000;

export function createRunnerSearch(nc: NatsConnection, fleet: string): RunnerSearch {
  let last = { key: '', atMs: 0, missing: Promise.resolve<readonly string[]>([]) };
  return (names) => {
    if (names.length === 0) return Promise.resolve([]);
    const [key, nowMs] = [names.join(), performance.now()];
    if (last.key !== key || nowMs - last.atMs > keptMs) last = { key, atMs: nowMs, missing: search(nc, fleet, names) };
    return last.missing;
  };
}

async function search(nc: NatsConnection, fleet: string, names: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  const missing = () => names.filter((name) => !found.has(`stopgate.${fleet}.run.${name}`));
  try {
    const infos = await nc.requestMany('$SRV.INFO.stopgate-runner', '', {
      strategy: 'count',
      maxWait: answerMs,
      maxMessages: runnersMax,
    });
    for await (const info of infos) {
      for (const { subject } of info.json<{ endpoints: { subject: string }[] }>().endpoints) found.add(subject);
      if (missing().length === 0) break;
    }
  } catch (cause) {
    return cause instanceof NoRespondersError ? missing() : [];
  }
  return found.size === 0 ? [] : missing();
}
