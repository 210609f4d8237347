/** Decides whether a folder's `.stopgate/service.json` may be trusted. Hooks import this file, so it imports little. */
import { statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Whether the user, or the owner of the working folder, owns the file: in a shared folder such as /tmp, a stranger
 * could answer for us. @throws SystemError if one of them does not exist
 */
export function isTrustedFile(path: string, cwd: string): boolean {
  if (process.getuid === undefined) return true; // Windows has no user ids
  return [process.getuid(), statSync(cwd).uid].includes(statSync(path).uid);
}

/**
 * Says why the service of `folder` is not used, and what to do.
 * @param option names another service, such as `--nats URL`
 */
export function describeStopped(folder: string, option: string): string {
  const owner = statSync(join(folder, '.stopgate', 'service.json'), { throwIfNoEntry: false })?.uid;
  return owner === undefined || owner === process.getuid?.()
    ? `the service of ${folder} is not running; start "stopgate dev" there, or name ${option}`
    : `the service of ${folder} belongs to another user (${owner}), so it is not used; name ${option} if you trust it`;
}
