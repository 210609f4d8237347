/** `stopgate` without arguments: introduces the program and, at a terminal, offers to run a first command. */
import { wrap } from '../terminal/text.ts';
import type { Context } from './command.ts';
import { ask, canAsk } from './questions.ts';

/** The command of each way to begin. */
const ways = [
  ['stopgate demo', 'watch it at work for half a minute'],
  ['stopgate backtest', 'judge what your agents did here last week'],
  ['stopgate up', 'connect your agent in this folder'],
] as const;

const introduction =
  'stopgate decides whether a coding agent may stop. Agents stop when they think that they are done. With stopgate they ask first: it checks what you require (tests, the plan, files, git), and answers allow or block, with a reason. A blocked agent keeps working.';

const widthMax = 80;

/** @returns the words of the command that the person chose, or null */
export async function welcome({ io, out, asTyped }: Pick<Context, 'io' | 'out' | 'asTyped'>): Promise<string[] | null> {
  const { bold, cyan } = out.colors;
  const asks = canAsk(io);
  const lines = ways.map(([command, what], index) => {
    return `  ${asks ? `${index + 1}  ` : ''}${cyan(asTyped(command).padEnd(24))}${what}`;
  });
  await out.print(
    ...wrap(introduction, Math.min(out.width(), widthMax)),
    '',
    bold('Three ways to begin:'),
    ...lines,
    '',
    asTyped('The first two change nothing, and "stopgate down" undoes the third.'),
    asTyped('"stopgate --help" lists all commands.'),
  );
  if (!asks) return null;
  const answer = await ask(io, '1, 2 or 3 (Enter for none)? ');
  const chosen = /^[1-3]$/.test(answer) ? ways[Number(answer) - 1] : undefined;
  return chosen === undefined ? null : chosen[0].split(' ').slice(1);
}
