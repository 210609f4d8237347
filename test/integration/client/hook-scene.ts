/** A scene for hooks: workers without a retry cap, each with a task of its own in an iteration. */
import { afterAll, beforeAll } from 'vitest';
import type { AttemptFields, Client, Decision, WorkerHandle } from '../../../src/client/index.ts';
import { openClient, type Client as PlainClient } from '../../support/client.ts';
import { openScene, type Scene } from './scene.ts';

export type StartedTask = {
  readonly taskId: string;
  readonly worker: WorkerHandle;
  stop(attempt?: AttemptFields): Promise<Decision>;
  /** Starts an iteration with this number. */
  iterate(iteration: number): Promise<unknown>;
};
export type HookScene = {
  readonly scene: Scene;
  readonly client: Client;
  readonly plain: PlainClient;
  startTask(iteration?: number): Promise<StartedTask>;
};

export function useHookScene(): HookScene {
  const hooks = {} as { -readonly [Key in keyof HookScene]: HookScene[Key] };
  let count = 0;
  hooks.startTask = async (first = 1) => {
    count += 1;
    const [taskId, worker] = [`TASK-${count}`, hooks.client.worker(`w${count}`)];
    await worker.publish('worker.registered', { policy: 'free' });
    await worker.publish('task.claimed', { task: taskId });
    const iterate = (iteration: number) =>
      hooks.client.publish('task', taskId, 'iteration.started', { iteration, maxIterations: 20 });
    await iterate(first);
    return { taskId, worker, stop: (attempt) => worker.decide(attempt), iterate };
  };
  beforeAll(async () => {
    hooks.scene = await openScene({ free: { retries: null } });
    hooks.client = hooks.scene.client;
    hooks.plain = await openClient(hooks.scene.server.url);
  });
  afterAll(async () => {
    await hooks.plain.close();
    await hooks.scene.close();
  });
  return hooks;
}
