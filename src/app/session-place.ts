/**
 * Tells where a session of an agent would be judged: whose service this is, and whether its checks can look into the
 * folder.
 */
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { Check } from '../../machines/index.ts';
import type { ConfigFile } from '../config/file.ts';
import type { FindPlace } from '../http/hook-routes.ts';
import { findWorkerFolder } from '../runner/folder.ts';

/** @param current the file in force */
export function createSessionPlaces(filePath: string, current: () => ConfigFile): FindPlace {
  const folder = dirname(filePath);
  return async (service, { agent, policy, cwd }) => {
    const { roots, commands } = current();
    const { name, checks, runners } = service.sessionPolicy(agent, policy);
    const found = await findWorkerFolder(cwd, { roots, baseDir: folder });
    const looks = (check: Check) =>
      check.kind === 'files' ||
      check.kind === 'git' ||
      check.kind === 'judge' ||
      (check.kind === 'command' && (commands[check.command]?.cwd ?? 'worker') === 'worker');
    return {
      ...{ fleet: service.fleet, replica: service.replica, user: userInfo().username, file: filePath },
      folderFault: 'reason' in found ? found.reason : null,
      policy: { name, checks: checks.length, looksIntoFolder: checks.filter(looks).map((it) => it.name), runners },
    };
  };
}
