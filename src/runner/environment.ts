/**
 * Chooses what programs get of our environment: the variables that say where things are, and none that may hold a
 * secret. The service's environment has tokens, passwords of databases and keys of models, and an agent often wrote
 * what is run.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Enough for compilers, package managers and test runners to find themselves, their caches and their locale. */
export const basicVariables: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TZ', 'TMPDIR'],
  ...['LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'LC_COLLATE', 'LC_MESSAGES', 'LC_NUMERIC', 'LC_TIME'],
  ...['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
];

/** Returns the variables of `names` that are set. */
export function pickVariables(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [name, env[name]]).filter((it): it is [string, string] => typeof it[1] === 'string'),
  );
}
