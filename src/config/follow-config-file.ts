/** Follows stopgate.yaml while a service or a runner runs. */
import { basename } from 'node:path';
import type { Logger } from '../log.ts';
import type { Config } from './config.ts';
import { type ReadConfigFile, readConfigFile } from './file-reader.ts';
import { describePosition } from './problems.ts';
import { watchFile } from './watch.ts';

type Read = Extract<ReadConfigFile, { ok: true }>;

/** Calls `onFile` for each change. Logs a file that is broken, empty or missing, or that has `faultsOf`, instead. */
export function followConfigFile(
  { filePath, fileText, fileIntervalMs }: Config,
  logger: Logger,
  onFile: (read: Read) => void,
  faultsOf: (read: Read) => readonly string[] = () => [],
): { close(): void } {
  const onChange = (text: string | null) => {
    if (text === null) {
      logger.warn({ file: filePath }, 'the configuration file is gone: the last configuration stays in force');
      return;
    }
    const read = readConfigFile(text, filePath);
    // Many programs empty a file before they write it, and a full disk leaves it empty: that must not withdraw rules.
    const problems = read.ok
      ? read.isEmpty
        ? [`${basename(filePath)} is empty; to remove all policies, write "policies: {}"`]
        : faultsOf(read)
      : read.problems.map((problem) => `${describePosition(problem, filePath)}: ${problem.message}`);
    if (!read.ok || problems.length > 0) {
      logger.error({ problems }, 'the configuration is not valid: the last one stays in force');
      return;
    }
    onFile(read);
    logger.info({ file: filePath }, 'reloaded the configuration');
  };
  return watchFile({ path: filePath, onChange, logger, intervalMs: fileIntervalMs, known: fileText });
}
