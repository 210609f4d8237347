/** What Claude Code 2.1.329 sent its hooks, and the answers that were proven to work (`stop-*.json`). */
import { recordingsOf } from './recordings.ts';

export type { Recording } from './recordings.ts';

export const { names: recordingNames, recorded } = recordingsOf('claude');
