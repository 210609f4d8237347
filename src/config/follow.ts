/** Follows stopgate.yaml while a service or a runner runs. */
import type { Logger } from '../log.ts';
import type { Config } from './config.ts';
import { type ReadConfigFile, readConfigFile } from './file-reader.ts';
import { describePosition } from './position.ts';
import { watchConfigFile } from './watch.ts';

/** Passes on each changed file. A broken or missing one is logged instead. */
export function followConfigFile(
  { filePath, fileText, fileIntervalMs }: Config,
  logger: Logger,
  onFile: (read: Extract<ReadConfigFile, { ok: true }>) => void,
): { close(): void } {
  const onChange = (text: string | null) => {
    if (text === null) {
      logger.warn({ file: filePath }, 'the configuration file is gone: the old one stays in force');
      return;
    }
    const read = readConfigFile(text, filePath);
    if (!read.ok) {
      const problems = read.problems.map((it) => `${describePosition(it, filePath)}: ${it.message}`);
      logger.error({ problems }, 'the configuration is broken: the old one stays in force');
      return;
    }
    for (const warning of read.warnings) logger.warn(warning);
    onFile(read);
    logger.info({ file: filePath }, 'the configuration has changed');
  };
  return watchConfigFile(filePath, onChange, fileIntervalMs, fileText);
}
