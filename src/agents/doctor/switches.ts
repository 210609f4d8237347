/**
 * Finds settings that turn hooks off, in the files of the machine, the user and the project. The files of each agent
 * and their precedence are in its `switches.ts`. Unknown settings about hooks are reported too, because they may turn
 * hooks off, and so are settings that we cannot read. All of this follows the agents' documentation.
 */
import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { readJson } from '../setup/json-edit.ts';
import type { LocalContext } from '../setup/local-context.ts';
import { readText } from '../setup/settings-file.ts';
import { type Answer, bad, skip, warn } from './doctor.ts';
import type { HookedFile } from './find-hooks.ts';

export type Settings = Readonly<Record<string, unknown>>;
/** One settings file. Lists of layers start with the highest precedence. */
export type Layer = { readonly file: string; readonly value: Settings };
export type SwitchSubject = {
  readonly places: LocalContext;
  readonly platform: NodeJS.Platform;
  /** The files that contain our hooks. */
  readonly hooked: readonly HookedFile[];
};
export type ReadSwitches = (subject: SwitchSubject) => readonly Answer[];

export const isSettings = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads layers and collects problems with files that no other check reports. */
export function createLayers() {
  const problems: Answer[] = [];
  const read = (file: string, parse: (text: string) => unknown, isReported: boolean): Layer[] => {
    try {
      const text = readText(file);
      if (text === null) return [];
      const value = parse(text);
      if (isSettings(value)) return [{ file, value }];
      throw new Error('it is not an object');
    } catch (error) {
      const why = (error as Error).message.split('\n')[0];
      if (!isReported)
        problems.push(
          warn(`${file} cannot be read (${why}), so it is unknown whether it turns hooks off`, 'check the file'),
        );
      return [];
    }
  };
  return {
    problems,
    json: (file: string) => read(file, readJson, false),
    toml: (file: string) => read(file, parseToml, false),
    /** For files that the doctor also searches for hooks, which reports their problems. */
    reported: (file: string) => read(file, file.endsWith('.toml') ? parseToml : readJson, true),
  };
}

export function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split('.')) found = isSettings(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return found;
}

export type Found = { readonly file: string; readonly value: unknown };

export const findAll = (layers: readonly Layer[], path: string): Found[] =>
  layers.flatMap(({ file, value }) => {
    const found = valueAt(value, path);
    return found === undefined ? [] : [{ file, value: found }];
  });

export const show = (path: string, value: unknown) => `"${path}": ${JSON.stringify(value)}`;

export const notUnderstood = ({ file, value }: Found, path: string): Answer =>
  warn(`${file} has ${show(path, value)}, which stopgate does not understand`, 'run a dry turn to see if hooks run');

/** The layer with the highest precedence that sets the flag decides. */
export function judgeFlag(layers: readonly Layer[], path: string, off: boolean, effect = 'no hook runs'): Answer[] {
  const [found] = findAll(layers, path);
  if (found === undefined) return [];
  if (typeof found.value !== 'boolean') return [notUnderstood(found, path)];
  return found.value === off
    ? [bad(`${found.file} has ${show(path, found.value)}`, `remove it: while it is set, ${effect}`)]
    : [];
}

/** Concatenates the lists of all layers. `all` is null if no layer has one. */
export function mergeLists(
  layers: readonly Layer[],
  path: string,
): { all: string[] | null; files: string; odd: Answer[] } {
  const found = findAll(layers, path);
  const isList = ({ value }: Found) => Array.isArray(value) && value.every((item) => typeof item === 'string');
  const lists = found.filter(isList);
  return {
    all: lists.length === 0 ? null : lists.flatMap(({ value }) => value as string[]),
    files: lists.map(({ file }) => file).join(' and '),
    odd: found.filter((entry) => !isList(entry)).map((entry) => notUnderstood(entry, path)),
  };
}

/** Reports unknown settings whose names mention hooks. */
export const judgeUnknown = (layers: readonly Layer[], known: readonly string[]): Answer[] =>
  layers.flatMap(({ file, value }) =>
    Object.keys(value)
      .filter((key) => /hook/i.test(key) && !known.includes(key))
      .map((key) => notUnderstood({ file, value: value[key] }, key)),
  );

export const asPattern = (glob: string) =>
  new RegExp(`^${glob.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i');

export const httpHooks = (hooked: readonly HookedFile[]) =>
  hooked.flatMap(({ file, hooks }) =>
    hooks.filter(({ value }) => value.type === 'http').map((hook) => ({ file, hook })),
  );

/** Checks an allowlist of the addresses that hooks may post to. */
export function judgeAddresses(layers: readonly Layer[], path: string, hooked: readonly HookedFile[]): Answer[] {
  const { all, files, odd } = mergeLists(layers, path);
  const refused = httpHooks(hooked).find(
    ({ hook }) => !all?.some((glob) => asPattern(glob).test(String(hook.value.url))),
  );
  if (all === null || refused === undefined) return odd;
  const text = `${path} in ${files} does not allow ${refused.hook.value.url}: the hooks in ${refused.file} do not run`;
  return [...odd, bad(text, 'add the address there, or write the hooks with --form command')];
}

export const folderOf = (platform: NodeJS.Platform, linux: string, mac: string, windows: string) =>
  platform === 'win32' ? windows : platform === 'darwin' ? mac : linux;

/** Compares real paths. A folder is within itself. */
export function isWithin(folder: string, path: string): boolean {
  const real = (name: string) => {
    try {
      return realpathSync(name);
    } catch {
      return name;
    }
  };
  const route = relative(real(folder), real(path));
  return route !== '..' && !route.startsWith(`..${sep}`) && !isAbsolute(route);
}

/** A switch of an agent in table/rows.ts. */
export type ListedSwitch = {
  /** The highest precedence first. */
  readonly files: readonly string[];
  readonly path: string;
  /** The value that turns hooks off. A string means a list that contains it. */
  readonly off: boolean | string;
};

export const readListedSwitches =
  (title: string, switchesOf: (places: LocalContext) => readonly ListedSwitch[]): ReadSwitches =>
  ({ places, hooked }) => {
    if (hooked.length === 0) return [];
    const layers = createLayers();
    const read = (file: string) =>
      hooked.some((own) => own.file === file) ? layers.reported(file) : layers.json(file);
    const found = switchesOf(places).flatMap(({ files, path, off }) => {
      const all = files.flatMap(read);
      if (typeof off === 'boolean') return all.flatMap((layer) => judgeFlag([layer], path, off));
      const { all: list, files: where, odd } = mergeLists(all, path);
      const isOff = list?.includes(off) ?? false;
      return [
        ...odd,
        ...(isOff ? [bad(`${where} has "${off}" in "${path}"`, 'remove it: while it is there, no hook runs')] : []),
      ];
    });
    return [...layers.problems, ...found, skip(`not checked: settings of ${title} from a server or an organisation`)];
  };
