/** An executor of a campaign, which works in its own folder. Its stop runs the seed's commands. */
import type { Folder } from '../../support/deployment.ts';
import type { SeedService, Worker } from '../service.ts';
import { script } from './commands.ts';

export type Executor = Worker & {
  /** Objects are written as JSON. */
  write(files: Readonly<Record<string, unknown>>): Promise<void>;
  readonly folder: string;
};

/** `validate`: the two conditions as two checks. `script`: the seed's script, which checks both. */
export const policies = {
  validate: { checks: [{ command: 'validate' }, { files: ['principle_updates.json'] }] },
  script: { checks: [{ command: 'nous-execute-stop' }] },
};
export const findings = { claim: 'water boils', confidence: 0.9, evidence: ['kettle'] };
export const valid = { 'findings.json': findings, 'principle_updates.json': {} };

export async function startExecutor(
  service: SeedService,
  folder: Folder,
  policy: object,
  files: Readonly<Record<string, unknown>>,
): Promise<Executor> {
  const name = service.newId('campaign');
  const write: Executor['write'] = async (written) => {
    for (const [file, content] of Object.entries(written))
      await folder.write(`${name}/${file}`, typeof content === 'string' ? content : JSON.stringify(content));
  };
  await write({ 'nous-execute-stop': script, ...files });
  const cwd = `${folder.path}/${name}`;
  const worker = await service.worker(policy, { agent: 'claude', cwd });
  return { ...worker, write, folder: cwd };
}
