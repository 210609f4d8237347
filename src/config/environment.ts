/** The environment of the process. Besides this file, only the two entry points of the process read it. */
import { homedir, userInfo } from 'node:os';

/** An empty variable counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const readEnvironment = (): Environment => process.env;

/** Reads a variable that the configuration names, such as a webhook's secret. Undefined if it is not set. */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

/** The user's home folder. With an empty HOME, `homedir` returns "", which is the current folder. */
export const homeFolder = (env: Environment): string => readVariable('HOME', env) ?? (homedir() || userInfo().homedir);
