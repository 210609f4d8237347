/**
 * The command line of benchmarks that are their own programs, and the state that an interrupted run leaves for
 * `--resume`.
 */
import { readFileSync } from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Bad usage prints the help and exits with code 2. */
export function readRunOptions<const Given extends Options>(
  options: Given,
  help: string,
): ReturnType<typeof parseArgs<{ options: Given }>>['values'] {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return endWith((error as Error).message, help);
  }
}

export function endWith(why: string, help: string): never {
  process.stderr.write(`${why}\n${help}`);
  process.exit(2);
}

/** The names in `--only`, in the order of `names`. Without it, all names. */
export function readNames<Name extends string>(only: string | undefined, names: readonly Name[], help: string): Name[] {
  if (only === undefined) return [...names];
  const wanted = only.split(',');
  const unknown = wanted.find((name) => !names.some((known) => known === name));
  if (unknown !== undefined) endWith(`--only: unknown name '${unknown}'; use ${names.join(', ')}`, help);
  return names.filter((name) => wanted.includes(name));
}

/** @param nothing returned if there is no such file, or it is not JSON */
export function readKept<Kept>(file: string, nothing: Kept): Kept {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Kept;
  } catch {
    return nothing;
  }
}
