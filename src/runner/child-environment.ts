/**
 * Programs inherit only harmless environment variables. The service's environment may contain tokens, database
 * passwords and API keys, and the code that is run was often written by an agent.
 */
import type { Environment } from '../config/environment.ts';

/** Enough for compilers, package managers and test runners to find programs, caches and the locale. */
export const basicVariables: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'TZ',
  'TMPDIR',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'LC_COLLATE',
  'LC_MESSAGES',
  'LC_NUMERIC',
  'LC_TIME',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_RUNTIME_DIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/** Returns the variables of `names` that are set. */
export function pickVariables(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [name, env[name]]).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
