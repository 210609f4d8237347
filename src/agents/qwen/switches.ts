/** Settings that turn Qwen Code's hooks off, from its documentation. */
import type { Answer } from '../doctor/doctor.ts';
import type { HookedFile } from '../doctor/find-hooks.ts';
import { type GeminiVariant, readGeminiLike } from '../doctor/gemini-switches.ts';
import { judgeAddresses, judgeFlag, judgeUnknown, type Layer, type ReadSwitches } from '../doctor/switches.ts';

export function judgeQwen(layers: readonly Layer[], hooked: readonly HookedFile[]): Answer[] {
  return [
    ...judgeFlag(layers, 'disableAllHooks', true),
    ...judgeFlag(layers, 'hooksConfig.enabled', false),
    ...judgeAddresses(layers, 'security.allowedHttpHookUrls', hooked),
    ...judgeUnknown(layers, ['hooks', 'disableAllHooks', 'hooksConfig']),
  ];
}

export const readQwenSwitches = (folder: GeminiVariant['folder']): ReadSwitches =>
  readGeminiLike({
    title: 'Qwen Code',
    folder,
    project: '.qwen',
    system: {
      linux: '/etc/qwen-code',
      mac: '/Library/Application Support/QwenCode',
      windows: 'C:\\ProgramData\\qwen-code',
    },
    variables: {
      settings: 'QWEN_CODE_SYSTEM_SETTINGS_PATH',
      defaults: 'QWEN_CODE_SYSTEM_DEFAULTS_PATH',
      trust: 'QWEN_CODE_TRUSTED_FOLDERS_PATH',
    },
    trust: { isOnByDefault: false, grantedBy: null, deniedBy: [] },
    judge: judgeQwen,
  });
