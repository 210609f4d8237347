/** The environment of the process. Besides this file, only the two entry points of the process read it. */

/** An empty variable counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const readEnvironment = (): Environment => process.env;

/** Reads a variable that the configuration names, such as a webhook's secret. Undefined if it is not set. */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name];
}
