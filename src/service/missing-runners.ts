/** missingRunners: which runners do the policies name that nobody serves? */
import type { Host } from '../host/host.ts';
import type { RunnerSearch } from '../nats/runner-search.ts';

export function missingRunners(host: Host, search: RunnerSearch): Promise<readonly string[]> {
  const policies = [...host.fleet.policies.policies.values()];
  const names = policies.flatMap(({ runner, runners }) => (runner === null ? runners : [runner]));
  return search([...new Set(names)].sort());
}
