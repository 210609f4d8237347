/** Reads the policies of a stopgate.yaml for commands that judge the past. */
import type { PolicySet } from '../../machines/index.ts';
import { readConfigFile } from '../config/file-reader.ts';
import { describePosition } from '../config/problems.ts';
import { AppError } from '../errors.ts';
import type { Context } from './command.ts';
import { readText } from './input.ts';

/**
 * Returns undefined if the file does not mention policies.
 * @throws AppError input.bad if it cannot be read, or config.bad if it is not valid
 */
export async function readPolicyFile(
  path: string,
  { io, note }: Pick<Context, 'io' | 'note'>,
): Promise<PolicySet | undefined> {
  const read = readConfigFile(await readText(path, io), path);
  if (!read.ok) {
    const issues = read.problems.map((problem) => ({
      path: describePosition(problem, path),
      message: problem.message,
    }));
    throw new AppError('config.bad', `'${path}' is not a valid configuration`, { issues });
  }
  for (const warning of read.unknownNames) note(`stopgate: ${warning}`);
  return read.file.policyForm === null ? undefined : read.file.policySet;
}
