/**
 * Named contexts: how a person reaches several services. They are in `stopgate/contexts.json` of the user's
 * configuration folder. A context has no secrets, only the path of a credentials file. Commands use contexts; services
 * and programs do not.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { AppError } from '../errors.ts';
import { readPlainFile } from '../plain-file.ts';
import { describeSystemError } from '../system-error.ts';
import { tryJson } from '../text/json-text.ts';
import { type Environment, homeFolder, readVariable } from './environment.ts';

export const contextFields = ['nats', 'creds', 'fleet', 'http'] as const;
type Field = (typeof contextFields)[number];

/** Values as written. `creds` is an absolute path. They are checked like any option when the context is used. */
export type NamedContext = { readonly nats: string } & { readonly [Name in Exclude<Field, 'nats'>]?: string };
export type Contexts = {
  /** The context of `stopgate context use`. Null if there is none. */
  readonly selected: string | null;
  readonly byName: ReadonlyMap<string, NamedContext>;
};

/** A person has only a few. */
const contextsMax = 1_000;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const isContextName = (name: string): boolean => namePattern.test(name);
export const contextNameFault =
  'is not the name of a context: up to 63 letters, digits, "-", "_" and ".", beginning with a letter or digit';

export function contextsFile(env: Environment, home?: string): string {
  const given = readVariable('XDG_CONFIG_HOME', env);
  // The XDG specification ignores a relative path.
  const isGiven = given !== undefined && isAbsolute(given);
  const folder = isGiven ? given : join(home ?? homeFolder(env), '.config');
  return join(folder, 'stopgate', 'contexts.json');
}

/** @throws AppError config.bad if the file cannot be read or has another form */
export function readContexts(file: string): Contexts {
  let text: string;
  try {
    text = readPlainFile(file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return { selected: null, byName: new Map() };
    throw new AppError('config.bad', `cannot read '${file}': ${describeSystemError(cause)}`, { cause });
  }
  const refuse = (what: string) => new AppError('config.bad', `${file}: ${what}; correct or delete the file`);
  const data = tryJson(text);
  if (!isRecord(data) || !isRecord(data.contexts)) throw refuse('it is not a list of contexts');
  const { selected = null } = data;
  const rows = Object.entries(data.contexts);
  if (rows.length > contextsMax) throw refuse(`it has more than ${contextsMax} contexts`);
  const byName = new Map(
    rows.map(([name, value]) => {
      if (!isContextName(name)) throw refuse(`"${name.slice(0, 80)}" ${contextNameFault}`);
      const context = readContext(value);
      if (context === null) throw refuse(`context "${name}" must have "nats", and only ${contextFields.join(', ')}`);
      return [name, context];
    }),
  );
  if (selected !== null && (typeof selected !== 'string' || !byName.has(selected)))
    throw refuse('"selected" is not one of its contexts');
  return { selected, byName };
}

/** Replaces the file as a whole. @throws AppError config.bad */
export function writeContexts(file: string, { selected, byName }: Contexts): void {
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    const text = JSON.stringify({ selected, contexts: Object.fromEntries(byName) }, null, 2);
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (cause) {
    throw new AppError('config.bad', `cannot write '${file}': ${describeSystemError(cause)}`, { cause });
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @throws AppError config.bad */
export function findContext({ byName }: Contexts, name: string): NamedContext {
  const context = byName.get(name);
  if (context !== undefined) return context;
  const known = [...byName.keys()];
  const hint =
    known.length === 0 ? '"stopgate context add NAME --nats URL" creates one' : `use one of ${known.join(', ')}`;
  throw new AppError('config.bad', `there is no context "${name}"; ${hint}`);
}

function readContext(value: unknown): NamedContext | null {
  if (!isRecord(value)) return null;
  const isField = (key: string) => contextFields.some((field) => field === key);
  const isText = Object.entries(value).every(([key, text]) => isField(key) && typeof text === 'string' && text !== '');
  return isText && value.nats !== undefined ? (value as NamedContext) : null;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
