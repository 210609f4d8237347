/** A service for agents whose hooks are in their user's settings. */
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { parse, stringify } from 'yaml';
import { type Deployment, type DeploymentOptions, deploy } from '../../../support/deployment.ts';

/** Such hooks ignore sessions outside of the service's roots, so the folders of `makeAgentHome` are inside. */
export async function deployForAgents({
  config = '{}',
  ...options
}: Pick<DeploymentOptions, 'config' | 'start'> = {}): Promise<Deployment> {
  const settings = { ...(parse(config) as object), roots: [await realpath(tmpdir())] };
  return deploy({ ...options, config: stringify(settings) });
}
