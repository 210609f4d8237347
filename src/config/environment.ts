/** The environment of the process. Only the two files that a process starts with read it too. */
import { AppError } from '../errors.ts';

/** A variable that is set to '' counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const readEnvironment = (): Environment => process.env;

/**
 * Tells whether the NATS library itself reads and writes the service's messages, as `STOPGATE_WIRE=library` says.
 * @throws AppError config.bad: it says something else
 */
export function readUsesLibraryWire(env: Environment = process.env): boolean {
  const value = readVariable('STOPGATE_WIRE', env);
  if (value !== undefined && value !== 'library')
    throw new AppError('config.bad', `STOPGATE_WIRE: '${value}' is unknown; it may be 'library', or not set`);
  return value === 'library';
}

/** The value of a variable that the configuration names, such as a webhook's secret; undefined: not set. */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name];
}
