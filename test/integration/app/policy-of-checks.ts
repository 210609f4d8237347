/** Policies of checks, and a worker that tries to stop under one of them. */
import type { Deployment } from '../../support/deployment.ts';

export const sh = (source: string, more: object = {}) => ({ run: ['sh', '-c', source], cwd: '.', ...more });
export const exits = (code: number) => sh(`exit ${code}`);
export const checks = (...list: object[]) => ({ checks: list });

/** A worker of that name's policy tries to stop. */
export async function stop(
  { client }: Deployment,
  policy: string,
  { worker = policy, cwd, ...fields }: { worker?: string; cwd?: string; [key: string]: unknown } = {},
) {
  await client.publish(`worker.${worker}.worker.registered`, { policy, ...(cwd === undefined ? {} : { cwd }) });
  return (await client.ask(`decide.${worker}`, { attempt: 'a1', ...fields })).body;
}
