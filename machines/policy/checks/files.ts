/** `files: [...]`: these paths exist under the worker's folder. A runner checks. */
import { z } from 'zod';
import type { CheckKind } from './check.ts';

export const filesCheck: CheckKind<'files'> = {
  form: () => z.array(z.string().min(1)).min(1).optional().describe("paths that must exist under the worker's folder"),
  normalize: (files) => ({ kind: 'files', files }),
  evaluate: (check) => ({ kind: 'pending', check }),
};

/** The fixed text of protocol.md §5, for the runner. */
export const missingFilesMessage = (files: readonly string[]): string => `Missing required files: ${files.join(', ')}`;
