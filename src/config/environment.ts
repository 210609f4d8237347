/** The environment of the process. Only the two files that a process starts with read it too. */
/** A variable that is set to '' counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const readEnvironment = (): Environment => process.env;

/** The value of a variable that the configuration names, such as a webhook's secret; undefined: not set. */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name];
}
