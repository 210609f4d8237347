/**
 * `kill -9` after a random number of decisions: two replicas serve attempts whose check is a command of 300 ms, and
 * they are killed and restarted in turn. Every attempt gets exactly one decision, and the caps are exact.
 */
import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../../support/client.ts';
import { deployReplicas } from '../../support/deployment.ts';
import { createRandom } from '../../support/random.ts';

/** `npm run test:faults` kills more often, but without checks. */
const killsMin = 8;
const attemptsMin = 100;
const workers = Array.from({ length: 12 }, (_, index) => `w${index}`);
const config = `
policies:
  default:
    retries: 3
    checks: [{ command: slow, onError: escalate }]
commands:
  slow: { run: [sh, -c, 'sleep 0.3; exit 1'], cwd: '.' }
`;

let stage: Awaited<ReturnType<typeof deployReplicas>>;
let client: Client;

beforeAll(async () => {
  stage = await deployReplicas(config);
  client = stage.client;
});
afterAll(() => stage.close());

test('every attempt gets one decision, and caps are exact', async () => {
  const random = createRandom('kills');
  const decided = new EventEmitter();
  let kills = 0;
  let attempts = 0;
  const isEnough = () => kills >= killsMin && attempts >= attemptsMin;

  /** Repeats the request with the same id until there is a reply, like a client that lost its connection. */
  const decide = async (worker: string, attempt: string) => {
    for (;;) {
      const answer = await client.ask(`decide.${worker}`, { attempt }, 3_000).catch(() => null);
      if (answer !== null && answer.code === '') return answer.body;
    }
  };
  const work = async (worker: string) => {
    const causes: string[] = [];
    for (let number = 1; !isEnough(); number += 1) {
      const decision = await decide(worker, `${worker}-${number}`);
      attempts += 1;
      decided.emit('one');
      causes.push(decision.cause);
    }
    return causes;
  };
  const killer = async () => {
    for (let turn = 0; !isEnough(); turn += 1) {
      const until = attempts + Math.floor(random() * 25);
      while (attempts < until) await once(decided, 'one');
      const name = turn % 2 === 0 ? 'ra' : 'rb';
      await stage.kill(name);
      kills += 1;
      await stage.start(name);
    }
  };
  const [, ...causes] = await Promise.all([killer(), ...workers.map(work)]);

  const expected = ['incomplete', 'incomplete', 'incomplete', 'capped'];
  for (const list of causes as string[][]) expect(list).toEqual(list.map((_, index) => expected[index % 4]));
  for (const [index, worker] of workers.entries()) {
    const attempted = (causes as string[][])[index]?.map((_, number) => `${worker}-${number + 1}`);
    const stored = async () =>
      (await client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`)).map((it) => it.attempt);
    // Exactly once each, in any order: a replica that takes over may store an earlier decision after a later one.
    await expect.poll(async () => (await stored()).sort()).toEqual(attempted?.sort());
  }
});
