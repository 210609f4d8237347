/** Settings that turn Copilot CLI's hooks off, from its documentation. */
import { join } from 'node:path';
import { skip, warn } from '../doctor/doctor.ts';
import { createLayers, isWithin, judgeFlag, judgeUnknown, mergeLists, type ReadSwitches } from '../doctor/switches.ts';
import type { LocalContext } from '../setup/local-context.ts';

export const readCopilotSwitches =
  (folder: (places: LocalContext) => string): ReadSwitches =>
  ({ places, hooked }) => {
    const { cwd } = places;
    const layers = createLayers();
    const projectFiles = ['settings.local.json', 'settings.json'].map((name) => join(cwd, '.github', 'copilot', name));
    const userFiles = ['settings.json', 'config.json'].map((name) => join(folder(places), name));
    const user = userFiles.flatMap(layers.json);
    // A hooks file may disable its own hooks.
    const own = hooked.flatMap(({ file }) => judgeFlag(layers.reported(file), 'disableAllHooks', true));
    const all = [...projectFiles.flatMap(layers.json), ...user];
    const trusted = ['trustedFolders', 'trusted_folders'].map((path) => mergeLists(user, path));
    const folders = trusted.flatMap(({ all: list }) => list ?? []);
    const project = hooked.find(({ scope }) => scope === 'project');
    const isTrusted = project === undefined || folders.some((trustedFolder) => isWithin(trustedFolder, cwd));
    return [
      ...layers.problems,
      ...own,
      ...judgeFlag(all, 'disableAllHooks', true),
      ...trusted.flatMap(({ odd }) => odd),
      ...judgeUnknown(all, ['hooks', 'disableAllHooks']),
      ...(isTrusted
        ? []
        : [
            warn(
              `Copilot CLI does not trust ${cwd} yet: "copilot -p" ignores the hooks in ${project.file}`,
              'start copilot here once and trust the folder, or set GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS=true',
            ),
          ]),
      ...(hooked.length === 0 ? [] : [skip("not checked: the organisation's policies for Copilot")]),
    ];
  };
