/**
 * Finds runners that nobody serves, by discovery (NATS micro, ADR-32). Sends nothing to the runners themselves, because
 * a custom runner may act on any request.
 */
import { type NatsConnection, NoRespondersError } from '@nats-io/nats-core';

/** @returns the names without a discoverable server, or null if NATS did not reply */
export type FindMissingRunners = (names: readonly string[]) => Promise<readonly string[] | null>;

/** How long a result is cached: several load balancers probe readiness every few seconds. */
const cachedMs = 10_000;
/** Readiness probes wait for this, so it is shorter than the timeouts of load balancers. */
const discoveryTimeoutMs = 500;
const runnersMax = 1_000;

export function createFindMissingRunners(nc: NatsConnection, fleet: string): FindMissingRunners {
  let last = { key: '', atMs: 0, missing: Promise.resolve<readonly string[] | null>([]) };
  return (names) => {
    if (names.length === 0) return Promise.resolve([]);
    const key = names.join();
    const nowMs = performance.now();
    if (last.key !== key || nowMs - last.atMs > cachedMs)
      last = { key, atMs: nowMs, missing: search(nc, fleet, names) };
    return last.missing;
  };
}

async function search(nc: NatsConnection, fleet: string, names: readonly string[]): Promise<readonly string[] | null> {
  const found = new Set<string>();
  const missing = () => names.filter((name) => !found.has(`stopgate.${fleet}.run.${name}`));
  try {
    const infos = await nc.requestMany('$SRV.INFO.stopgate-runner', '', {
      strategy: 'count',
      maxWait: discoveryTimeoutMs,
      maxMessages: runnersMax,
    });
    for await (const info of infos) {
      for (const { subject } of info.json<{ endpoints: { subject: string }[] }>().endpoints) found.add(subject);
      if (missing().length === 0) break;
    }
  } catch (cause) {
    return cause instanceof NoRespondersError ? missing() : null;
  }
  return found.size === 0 ? null : missing();
}
