/** Calls of Claude Code 2.1.329 to its hooks (PreSkillShellCommand: 2.1.332), and answers that work (`stop-*.json`). */
import { recordingsOf } from './recordings.ts';

export type { Recording } from './recordings.ts';

export const { names: recordingNames, recorded } = recordingsOf('claude');
