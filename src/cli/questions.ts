/** Asks the person at the terminal. */
import { AppError } from '../errors.ts';
import type { Io } from '../terminal/process-io.ts';
import { clean } from '../terminal/text.ts';
import { flag } from './command.ts';

const hasInputTerminal = ({ stdin }: Io): boolean => (stdin as { isTTY?: boolean }).isTTY === true;

export const canAsk = (io: Io): boolean => io.isTTY && hasInputTerminal(io);

/**
 * Asks for one line and returns it trimmed; '' at the end of the input. Asks on stderr, because stdout may be piped.
 */
export async function ask({ stdin, stderr }: Io, question: string): Promise<string> {
  stderr.write(question);
  return (await readLine(stdin)).trim();
}

/** Reads one line and leaves further input for the next call. The terminal handles editing and Ctrl-C. */
function readLine(stdin: Io['stdin']): Promise<string> {
  if (stdin.readableEnded) return Promise.resolve('');
  return new Promise((resolve) => {
    let text = '';
    const finish = (line: string) => {
      stdin.off('data', take).off('end', onEnd).pause();
      resolve(line);
    };
    const onEnd = () => finish(text);
    const take = (chunk: Buffer | string) => {
      text += String(chunk);
      const end = text.indexOf('\n');
      if (end < 0) return;
      finish(text.slice(0, end));
      if (end + 1 < text.length) stdin.unshift(Buffer.from(text.slice(end + 1)));
    };
    stdin.on('data', take).once('end', onEnd).resume();
  });
}

export const askYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));

export const yesArg = { yes: flag('do not ask for confirmation; required without a terminal') } as const;

/** Returns a function that asks at a terminal. Without one, it throws AppError input.bad unless `yes` is set. */
export function createConfirm(yes: boolean, io: Io): (question: string) => Promise<boolean> {
  if (yes) return async () => true;
  return async (question) => {
    if (!hasInputTerminal(io))
      throw new AppError('input.bad', 'this needs confirmation, but there is no terminal: add --yes');
    return askYes(io, clean(question));
  };
}
