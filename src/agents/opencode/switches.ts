/** Settings that turn OpenCode's plugins off, from its documentation. */
import { join } from 'node:path';
import { type Answer, bad, skip } from '../doctor/doctor.ts';
import { asPattern, createLayers, findAll, type SwitchSubject } from '../doctor/switches.ts';

/** @param plugins the files of our plugin, which OpenCode has instead of hooks */
export const readOpencodeSwitches = (
  { places }: Pick<SwitchSubject, 'places'>,
  plugins: readonly string[],
): Answer[] => {
  const { env, cwd, home } = places;
  if (plugins.length === 0) return [];
  const layers = createLayers();
  const folders = [
    join(cwd, '.opencode'),
    cwd,
    env.OPENCODE_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode'),
  ];
  const files = folders.flatMap((folder) => ['opencode.jsonc', 'opencode.json'].map((name) => join(folder, name)));
  const all = [...new Set(files)].flatMap(layers.json);
  const isPure = !['', '0', 'false'].includes((env.OPENCODE_PURE ?? '').toLowerCase());
  const excluded = findAll(all, 'plugins').flatMap(({ file, value }) =>
    (Array.isArray(value) ? value : [])
      .filter((item): item is string => typeof item === 'string' && item.startsWith('-'))
      .filter((item) => asPattern(item.slice(1)).test('stopgate'))
      .map((item) => bad(`${file} excludes plugins: "${item}"`, 'remove it: while it is set, our plugin does not run')),
  );
  return [
    ...layers.problems,
    ...(isPure ? [bad('OPENCODE_PURE is set here: OpenCode runs without plugins', 'unset it')] : []),
    ...excluded,
    skip('not checked: "opencode --pure" and settings of the organisation'),
  ];
};
