/** Questions to the person at the terminal. */
import { createInterface } from 'node:readline';
import { AppError } from '../errors.ts';
import type { Io } from '../process-io.ts';
import { clean } from '../terminal/text.ts';

const hasInputTerminal = ({ stdin }: Io): boolean => (stdin as { isTTY?: boolean }).isTTY === true;

export const canAsk = (io: Io): boolean => io.isTTY && hasInputTerminal(io);

/** One line, without blanks around it; '' at the end of the input. On stderr, since stdout may go elsewhere. */
export async function ask({ stdin, stderr }: Io, question: string): Promise<string> {
  stderr.write(question);
  // The terminal itself edits the line, and its Ctrl-C ends the process as usual.
  const lines = createInterface({ input: stdin, terminal: false });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    lines.close();
  }
}

export const askYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));

export const yesArg = { yes: { type: 'boolean', description: 'do not ask; required without a terminal' } } as const;

/** Confirms a change: asks at a terminal, and needs --yes elsewhere. @throws AppError input.bad */
export function createConfirm(yes: boolean, io: Io): (question: string) => Promise<boolean> {
  if (yes) return async () => true;
  if (!hasInputTerminal(io))
    throw new AppError('input.bad', 'this changes something, and there is no terminal to confirm it: add --yes');
  return (question) => askYes(io, clean(question));
}
