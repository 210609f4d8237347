/** Settings that turn Codex's hooks off, from its documentation. */
import { join } from 'node:path';
import { type Answer, bad, skip } from '../doctor/doctor.ts';
import type { HookedFile } from '../doctor/find-hooks.ts';
import {
  createLayers,
  findAll,
  folderOf,
  isSettings,
  isWithin,
  judgeFlag,
  judgeUnknown,
  type Layer,
  type ReadSwitches,
  valueAt,
} from '../doctor/switches.ts';
import type { LocalContext } from '../setup/local-context.ts';

export const readCodexSwitches =
  (folder: (places: LocalContext) => string): ReadSwitches =>
  ({ places, platform, hooked }) => {
    const layers = createLayers();
    const machine = folderOf(platform, '/etc/codex', '/etc/codex', 'C:\\ProgramData\\OpenAI\\Codex');
    const requirements = layers.toml(join(machine, 'requirements.toml'));
    const user = layers.reported(join(folder(places), 'config.toml'));
    const isTrusted = findAll(user, 'projects').some(({ value }) =>
      Object.entries(isSettings(value) ? value : {}).some(
        ([path, project]) => valueAt(project, 'trust_level') === 'trusted' && isWithin(path, places.cwd),
      ),
    );
    // Codex reads a project's settings only if it trusts the project.
    const project = isTrusted ? layers.toml(join(places.cwd, '.codex', 'config.toml')) : [];
    const system = layers.toml(join(machine, 'config.toml'));
    return [...layers.problems, ...judgeCodex(requirements, [...project, ...user, ...system], hooked)];
  };

/** @param own the project, user and system settings, in this order */
export function judgeCodex(
  requirements: readonly Layer[],
  own: readonly Layer[],
  hooked: readonly HookedFile[],
): Answer[] {
  // The active profile has precedence over the layers.
  const profile = findAll(own, 'profile')[0]?.value;
  const profiles = own.flatMap(({ file, value }) => {
    const chosen = isSettings(value.profiles) && typeof profile === 'string' ? value.profiles[profile] : undefined;
    return isSettings(chosen) ? [{ file, value: chosen }] : [];
  });
  // `codex_hooks` is the older name. It applies if the newer one is not set.
  const named = [...requirements, ...profiles, ...own].map(({ file, value }) => {
    const features = isSettings(value.features) ? value.features : {};
    return { file, value: { features: { hooks: features.hooks ?? features.codex_hooks } } };
  });
  const off = own.flatMap((layer) => {
    const states = valueAt(layer.value, 'hooks.state');
    return Object.entries(isSettings(states) ? states : {})
      .filter(
        ([key, state]) => valueAt(state, 'enabled') === false && hooked.some(({ file }) => key.startsWith(`${file}:`)),
      )
      .map(([key]) => bad(`${layer.file} turns the hook ${key} off`, 'turn it on in Codex with /hooks'));
  });
  return [
    ...judgeFlag(named, 'features.hooks', false),
    ...(hooked.length === 0 ? [] : judgeFlag(requirements, 'allow_managed_hooks_only', true, 'our hooks do not run')),
    ...off,
    ...judgeUnknown(requirements, ['hooks', 'allow_managed_hooks_only']),
    ...judgeUnknown(own, ['hooks']),
    ...(hooked.length === 0
      ? []
      : [skip('not checked: Codex settings from MDM, the cloud, and the options -c, --disable and --profile')]),
  ];
}
