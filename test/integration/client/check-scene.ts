/** A scene with one policy for each check name, and one that blocks on errors: `<name>` and `<name>-strict`. */
import { afterAll, beforeAll } from 'vitest';
import type { Client, Decision } from '../../../src/client/index.ts';
import { openClient, type Client as PlainClient } from '../../support/client.ts';
import { openScene, type Scene } from './scene.ts';

export type CheckScene = {
  readonly scene: Scene;
  readonly client: Client;
  readonly plain: PlainClient;
  /** The decision about a new worker under this policy. */
  decideUnder(policy: string): Promise<Decision>;
};

export function useCheckScene(names: readonly string[]): CheckScene {
  const checks = {} as { -readonly [Key in keyof CheckScene]: CheckScene[Key] };
  let count = 0;
  checks.decideUnder = async (policy) => {
    count += 1;
    const worker = checks.client.worker(`w${count}`);
    await worker.publish('worker.registered', { policy });
    return worker.decide({ attempt: 'a1' });
  };
  beforeAll(async () => {
    const policies = names.map((name) => {
      const check = { remote: name, ...(name === 'slow' ? { timeout: '400ms' } : {}) };
      return [
        [name, { checks: [check] }],
        [`${name}-strict`, { retries: null, checks: [{ ...check, onError: 'block' }] }],
      ];
    });
    checks.scene = await openScene(Object.fromEntries(policies.flat()));
    checks.client = checks.scene.client;
    checks.plain = await openClient(checks.scene.server.url);
  });
  afterAll(async () => {
    await checks.plain.close();
    await checks.scene.close();
  });
  return checks;
}
