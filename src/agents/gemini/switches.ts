/** Settings that turn Gemini CLI's hooks off. Trusted folders were tested with 0.61.0. */
import { type Answer, bad } from '../doctor/doctor.ts';
import type { HookedFile } from '../doctor/find-hooks.ts';
import { type GeminiVariant, readGeminiLike } from '../doctor/gemini-switches.ts';
import { judgeFlag, judgeUnknown, type Layer, mergeLists, type ReadSwitches } from '../doctor/switches.ts';

export function judgeGemini(layers: readonly Layer[], hooked: readonly HookedFile[]): Answer[] {
  const path = 'hooksConfig.disabled';
  const { all, files, odd } = mergeLists(layers, path);
  const isOff = (hook: HookedFile['hooks'][number]) =>
    [hook.value.name, hook.value.command].some((name) => typeof name === 'string' && all?.includes(name));
  const off = hooked.flatMap(({ hooks }) => hooks.filter(isOff).map(({ event }) => event));
  return [
    ...judgeFlag(layers, 'hooksConfig.enabled', false),
    ...judgeFlag(layers, 'tools.enableHooks', false),
    ...odd,
    ...(off.length === 0
      ? []
      : [bad(`${path} in ${files} lists our hooks for ${[...new Set(off)].join(', ')}`, 'remove them there')]),
    ...judgeUnknown(layers, ['hooks', 'hooksConfig']),
  ];
}

export const readGeminiSwitches = (folder: GeminiVariant['folder']): ReadSwitches =>
  readGeminiLike({
    title: 'Gemini CLI',
    folder,
    project: '.gemini',
    system: {
      linux: '/etc/gemini-cli',
      mac: '/Library/Application Support/GeminiCli',
      windows: 'C:\\ProgramData\\gemini-cli',
    },
    variables: {
      settings: 'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
      defaults: 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH',
      trust: 'GEMINI_CLI_TRUSTED_FOLDERS_PATH',
    },
    trust: {
      isOnByDefault: true,
      grantedBy: 'GEMINI_CLI_TRUST_WORKSPACE',
      deniedBy: [
        { name: 'GEMINI_RESTRICTED_MODE', value: 'true' },
        { name: 'GEMINI_CLI_TRUST_WORKSPACE', value: 'false' },
      ],
    },
    judge: judgeGemini,
  });
