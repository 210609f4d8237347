/** Finds out which runners nobody serves, without giving them work. */
import { type NatsConnection, RequestError } from '@nats-io/nats-core';

/** @returns those of `names` that certainly nobody serves: without an answer it is not known, and they are left out */
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
  const subjects = names.map((name) => `stopgate.${fleet}.run.${name}`);
  const discovered = await discover(nc, subjects);
  const isMissing = await Promise.all(subjects.map((it) => !discovered.has(it) && isUnserved(nc, it)));
  return names.filter((_, index) => isMissing[index]);
}

/** `stopgate runner` can be discovered (NATS micro, ADR-32). */
async function discover(nc: NatsConnection, wanted: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  try {
    const infos = await nc.requestMany('$SRV.INFO.stopgate-runner', '', { maxWait: answerMs, maxMessages: runnersMax });
    for await (const info of infos) {
      for (const { subject } of info.json<{ endpoints: { subject: string }[] }>().endpoints) found.add(subject);
      if (wanted.every((it) => found.has(it))) break;
    }
  } catch {
    // None of them is there, or it says something else. `isUnserved` decides.
  }
  return found;
}

/** A runner of one's own need not be discoverable. It refuses an empty request, and the server answers for nobody. */
async function isUnserved(nc: NatsConnection, subject: string): Promise<boolean> {
  try {
    await nc.request(subject, '', { timeout: answerMs });
    return false;
  } catch (cause) {
    return cause instanceof RequestError && cause.isNoResponders();
  }
}
