/** Asks before something is changed: at a terminal a person, elsewhere by --yes alone. */
import { createInterface } from 'node:readline';
import { AppError } from '../errors.ts';
import type { Io } from '../process-io.ts';
import { clean } from './text.ts';

export const yesArg = { yes: { type: 'boolean', description: 'do not ask; needed where no terminal is' } } as const;

/** Where nobody can be asked it says so before anything is done. @throws AppError input.bad */
export function createConfirm(yes: boolean, io: Io): (question: string) => Promise<boolean> {
  if (yes) return async () => true;
  if ((io.stdin as { isTTY?: boolean }).isTTY !== true)
    throw new AppError('input.bad', 'this changes something, and there is no terminal to ask at: add --yes');
  return (question) => ask(question, io);
}

/** On stderr, since stdout may go elsewhere. The end of the input is a no. */
function ask(question: string, { stdin, stderr }: Io): Promise<boolean> {
  stderr.write(`${clean(question)} [y/N] `);
  // The terminal itself edits the line, and its Ctrl-C ends the process as ever.
  const lines = createInterface({ input: stdin, terminal: false });
  return new Promise((answer) => {
    lines.once('line', (line) => {
      answer(/^\s*y(es)?\s*$/i.test(line));
      lines.close();
    });
    lines.once('close', () => answer(false));
  });
}
