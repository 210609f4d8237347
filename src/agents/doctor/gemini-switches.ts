/** Finds settings that turn hooks off in Gemini CLI and Qwen Code. Both have settings layers and trusted folders. */
import { dirname, join } from 'node:path';
import type { LocalContext } from '../setup/local-context.ts';
import { type Answer, bad, skip } from './doctor.ts';
import type { HookedFile } from './find-hooks.ts';
import { createLayers, findAll, folderOf, isWithin, type Layer, notUnderstood, type ReadSwitches } from './switches.ts';

export type GeminiVariant = {
  readonly title: string;
  readonly folder: (places: LocalContext) => string;
  /** The name of the settings folder in a project. */
  readonly project: string;
  readonly system: Readonly<Record<'linux' | 'mac' | 'windows', string>>;
  /** Variables that override the paths of the machine's settings and of the trusted folders. */
  readonly variables: Readonly<Record<'settings' | 'defaults' | 'trust', string>>;
  readonly trust: FolderTrust;
  readonly judge: (layers: readonly Layer[], hooked: readonly HookedFile[]) => Answer[];
};

type FolderTrust = {
  /** Whether folders need trust if no setting says so. */
  readonly isOnByDefault: boolean;
  /** The variable that trusts the folder if it is `true`. Null if there is none. */
  readonly grantedBy: string | null;
  readonly deniedBy: readonly { readonly name: string; readonly value: string }[];
};

type TrustSubject = Pick<LocalContext, 'cwd' | 'env'> & {
  readonly trust: FolderTrust;
  readonly read: (file: string) => Layer[];
};

export const readGeminiLike =
  ({ title, folder, project, system, variables, trust, judge }: GeminiVariant): ReadSwitches =>
  ({ places, platform, hooked }) => {
    const { env, cwd } = places;
    const layers = createLayers();
    const machine = folderOf(platform, system.linux, system.mac, system.windows);
    const user = folder(places);
    const systemSettings = layers.json(env[variables.settings] || join(machine, 'settings.json'));
    const userSettings = layers.reported(join(user, 'settings.json'));
    const systemDefaults = layers.json(env[variables.defaults] || join(machine, 'system-defaults.json'));
    // A project's own settings cannot make it trusted.
    const outsideProject = [...systemSettings, ...userSettings, ...systemDefaults];
    const rules = env[variables.trust] || join(user, 'trustedFolders.json');
    const trusted = judgeTrust(outsideProject, rules, { cwd, env, trust, read: layers.json });
    const projectSettings = trusted.isTrusted ? layers.reported(join(cwd, project, 'settings.json')) : [];
    const hasProjectHooks = hooked.some(({ scope }) => scope === 'project');
    const text = `${title} does not trust ${cwd} (${trusted.why}), so the project's hooks do not run`;
    const fix = `start it there once and trust the folder${trust.grantedBy === null ? '' : `, or set ${trust.grantedBy}=true`}`;
    const untrusted = trusted.isTrusted || !hasProjectHooks ? [] : [bad(text, fix)];
    return [
      ...layers.problems,
      ...trusted.odd,
      ...untrusted,
      ...judge([...systemSettings, ...projectSettings, ...userSettings, ...systemDefaults], hooked),
      ...(hooked.length === 0
        ? []
        : [
            skip(
              `not checked: hooks that ${title} skips for one session, trust granted by an IDE, and whether you have approved a project's hooks`,
            ),
          ]),
    ];
  };

/**
 * In a folder that is not trusted, the agent ignores the project's settings and its hooks, but runs the user's. Without
 * a terminal it does not start there. Environment variables come first, then the setting, then the rule for the nearest
 * folder.
 */
function judgeTrust(
  layers: readonly Layer[],
  file: string,
  { cwd, env, trust, read }: TrustSubject,
): { odd: Answer[]; isTrusted: boolean; why: string } {
  const path = 'security.folderTrust.enabled';
  const [found] = findAll(layers, path);
  const odd = found !== undefined && typeof found.value !== 'boolean' ? [notUnderstood(found, path)] : [];
  const denied = trust.deniedBy.find(({ name, value }) => env[name] === value);
  if (denied !== undefined) return { odd, isTrusted: false, why: `${denied.name}=${denied.value} is set here` };
  const isGranted = trust.grantedBy !== null && env[trust.grantedBy] === 'true';
  const needsTrust = typeof found?.value === 'boolean' ? found.value : trust.isOnByDefault;
  if (isGranted || !needsTrust) return { odd, isTrusted: true, why: '' };
  const rules = read(file).flatMap(({ value }) => Object.entries(value));
  const [nearest] = rules
    .filter(([folder, level]) => isWithin(level === 'TRUST_PARENT' ? dirname(folder) : folder, cwd))
    .sort(([a], [b]) => b.length - a.length);
  const isTrusted = nearest?.[1] === 'TRUST_FOLDER' || nearest?.[1] === 'TRUST_PARENT';
  const rule =
    nearest === undefined ? `no rule in ${file}` : `${file} has ${JSON.stringify(nearest[0])}: ${nearest[1]}`;
  return { odd, isTrusted, why: found === undefined ? rule : `${found.file}; ${rule}` };
}
