/** The HTTP tokens of stopgate.yaml, reloaded when that file or one of the token files changes. */
import { type AccessToken, readTokens, type TokenConfig } from '../config/access-tokens.ts';
import type { Config } from '../config/config.ts';
import { watchFile } from '../config/watch.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';

export type AccessTokens = {
  current(): readonly AccessToken[];
  /** Applies the tokens of a changed and valid configuration file. */
  configure(tokens: readonly TokenConfig[]): void;
  close(): void;
};

export function createAccessTokens({ file, fileIntervalMs }: Config, env: Io['env'], logger: Logger): AccessTokens {
  let configured: readonly TokenConfig[] = [];
  let current: readonly AccessToken[] = [];
  let watches: { close(): void }[] = [];
  const close = () => {
    for (const watch of watches.splice(0)) watch.close();
  };
  /** Reads the tokens. @returns whether they are now in force */
  const read = (): boolean => {
    const { tokens, faults } = readTokens(configured, env);
    if (faults.length === 0) {
      current = tokens;
      return true;
    }
    logger.error(
      { problems: faults.map(({ name, message }) => `${name}: ${message}`) },
      'the old tokens stay in force',
    );
    return false;
  };
  const configure = (tokens: readonly TokenConfig[]) => {
    close();
    configured = tokens;
    const files = new Set(tokens.flatMap(({ source }) => ('file' in source ? [source.file] : [])));
    watches = [...files].map((path) => {
      const onChange = () => {
        if (read()) logger.info({ file: path }, 'a file of tokens has changed');
      };
      return watchFile({ path, onChange, logger, intervalMs: fileIntervalMs });
    });
    read(); // after the watches have started, which miss earlier changes
  };
  configure(file.tokens);
  return { current: () => current, configure, close };
}
