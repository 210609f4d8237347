/** Workers that repeatedly ask to stop, and record the replies. */
import type { Client } from '../../support/client.ts';

export type Told = { readonly worker: string; readonly attempt: string; readonly cause: string };
export type Load = {
  /** Replies, in the order of each worker's attempts. */
  readonly told: Told[];
  /** Entries that the log has acknowledged. */
  readonly acknowledged: { readonly seq: number; readonly subject: string }[];
  /** The longest time without any reply. */
  readonly longestGapMs: () => number;
  /** Resolves at the next reply. */
  answered(): Promise<void>;
  /** Lets each worker finish its attempt. */
  end(): Promise<void>;
};

const askTimeoutMs = 3_000;
const pauseMs = 20;
const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** @param http returns the current addresses of the replicas */
export function startLoad(client: Client, workers: readonly string[], http: () => readonly string[]): Load {
  const told: Told[] = [];
  const acknowledged: Load['acknowledged'] = [];
  const waiting = new Set<() => void>();
  let ended = false;
  let count = 0;
  let lastMs = performance.now();
  let longestGapMs = 0;
  const note = (answer: Told) => {
    longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
    lastMs = performance.now();
    told.push(answer);
    for (const wake of waiting) wake();
    waiting.clear();
  };
  const askOverNats = async (worker: string, attempt: string) => {
    const { code, body } = await client.ask(`decide.${worker}`, { attempt }, askTimeoutMs);
    return code === '' ? body.cause : null;
  };
  const askOverHttp = async (worker: string, attempt: string) => {
    const addresses = http();
    count += 1;
    const address = addresses[count % addresses.length];
    if (address === undefined) return null;
    const reply = await fetch(`${address}/api/main/decide/${worker}`, {
      method: 'POST',
      body: JSON.stringify({ attempt }),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(askTimeoutMs),
    });
    return reply.ok ? ((await reply.json()) as { cause: string }).cause : null;
  };
  const work = async (worker: string) => {
    for (let number = 1; !ended; number += 1) {
      const attempt = `${worker}-${number}`;
      const beat = await client.publish(`worker.${worker}.heartbeat.sent`, {}, `beat-${attempt}`).catch(() => null);
      if (beat !== null) acknowledged.push({ seq: beat.seq, subject: `stopgate.main.worker.${worker}.heartbeat.sent` });
      for (let tries = number; ; tries += 1) {
        const ask = tries % 2 === 0 ? askOverNats : askOverHttp;
        const cause = await ask(worker, attempt).catch(() => null);
        await pause(pauseMs);
        if (cause === null) continue;
        note({ worker, attempt, cause });
        break;
      }
    }
  };
  const working = workers.map(work);
  return {
    told,
    acknowledged,
    longestGapMs: () => Math.max(longestGapMs, performance.now() - lastMs),
    answered: () => new Promise((resolve) => void waiting.add(resolve)),
    async end() {
      ended = true;
      await Promise.all(working);
    },
  };
}
