/** The tokens of HTTP while a service runs: those of stopgate.yaml, read again when that or one of their files changes. */
import { type AccessToken, readTokens, type TokenConfig } from '../config/access-tokens.ts';
import type { Config } from '../config/config.ts';
import { watchConfigFile } from '../config/watch.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../process-io.ts';

export type AccessTokens = {
  current(): readonly AccessToken[];
  /** Those of a changed file, which has no faults. */
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
  const read = () => {
    const { tokens, faults } = readTokens(configured, env);
    if (faults.length === 0) {
      current = tokens;
      return;
    }
    logger.error(
      { problems: faults.map(({ name, message }) => `${name}: ${message}`) },
      'the old tokens stay in force',
    );
  };
  const configure = (tokens: readonly TokenConfig[]) => {
    close();
    configured = tokens;
    read();
    const files = new Set(tokens.flatMap(({ source }) => ('file' in source ? [source.file] : [])));
    watches = [...files].map((path) => {
      const onChange = () => {
        read();
        logger.info({ file: path }, 'a file of tokens has changed');
      };
      return watchConfigFile(path, onChange, fileIntervalMs);
    });
  };
  configure(file.tokens);
  return { current: () => current, configure, close };
}
