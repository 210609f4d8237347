/** Questions to the person at the terminal. */
import { createInterface } from 'node:readline';
import type { Io } from '../process-io.ts';

export const canAsk = ({ stdin, isTTY }: Io): boolean => isTTY && (stdin as { isTTY?: boolean }).isTTY === true;

/** One line, without blanks around it; '' at the end of the input. */
export async function ask(io: Io, question: string): Promise<string> {
  io.stderr.write(question);
  const lines = createInterface({ input: io.stdin });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    lines.close();
  }
}

export const askYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));
