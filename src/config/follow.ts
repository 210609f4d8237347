/** Follows stopgate.yaml while a service or a runner runs. */
import { basename } from 'node:path';
import type { Logger } from '../log.ts';
import type { Config } from './config.ts';
import { type ReadConfigFile, readConfigFile } from './file-reader.ts';
import { describePosition } from './position.ts';
import { watchFile } from './watch.ts';

type Read = Extract<ReadConfigFile, { ok: true }>;

/** Passes on each changed file. A broken, empty or missing one, or one with `faultsOf` it, is logged instead. */
export function followConfigFile(
  { filePath, fileText, fileIntervalMs }: Config,
  logger: Logger,
  onFile: (read: Read) => void,
  faultsOf: (read: Read) => readonly string[] = () => [],
): { close(): void } {
  const onChange = (text: string | null) => {
    if (text === null) {
      logger.warn({ file: filePath }, 'the configuration file is gone: the old one stays in force');
      return;
    }
    const read = readConfigFile(text, filePath);
    // Many programs empty a file before they write it, and a full disk leaves it so: that withdraws no rules.
    const problems = read.ok
      ? read.isEmpty
        ? [`${basename(filePath)} is empty; to have no rules, write "policies: {}"`]
        : faultsOf(read)
      : read.problems.map((it) => `${describePosition(it, filePath)}: ${it.message}`);
    if (!read.ok || problems.length > 0) {
      logger.error({ problems }, 'the configuration is broken: the old one stays in force');
      return;
    }
    onFile(read);
    logger.info({ file: filePath }, 'the configuration has changed');
  };
  return watchFile({ path: filePath, onChange, logger, intervalMs: fileIntervalMs, known: fileText });
}
