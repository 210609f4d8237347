/** Questions to the person at the terminal. */
import { homedir } from 'node:os';
import { agents } from '../agents/index.ts';
import { findInstalled, type Installed, type Places } from '../agents/setup/places.ts';
import { AppError } from '../errors.ts';
import type { Io } from '../terminal/process-io.ts';
import { formatTable } from '../terminal/table.ts';
import { clean } from '../terminal/text.ts';
import { type Context, flag } from './command.ts';

const hasInputTerminal = ({ stdin }: Io): boolean => (stdin as { isTTY?: boolean }).isTTY === true;

export const canAsk = (io: Io): boolean => io.isTTY && hasInputTerminal(io);

/**
 * Asks for one line and returns it trimmed; '' at the end of the input. The question goes to stderr, since stdout may
 * go elsewhere.
 */
export async function ask({ stdin, stderr }: Io, question: string): Promise<string> {
  stderr.write(question);
  return (await readLine(stdin)).trim();
}

/**
 * Reads one line. The terminal itself edits it, and its Ctrl-C ends the process as usual. Further input is left for the
 * next call.
 */
function readLine(stdin: Io['stdin']): Promise<string> {
  if (stdin.readableEnded) return Promise.resolve('');
  return new Promise((resolve) => {
    let text = '';
    const finish = (line: string) => {
      stdin.off('data', take).off('end', end).pause();
      resolve(line);
    };
    const end = () => finish(text);
    const take = (chunk: Buffer | string) => {
      text += String(chunk);
      const at = text.indexOf('\n');
      if (at < 0) return;
      finish(text.slice(0, at));
      if (at + 1 < text.length) stdin.unshift(Buffer.from(text.slice(at + 1)));
    };
    stdin.on('data', take).once('end', end).resume();
  });
}

export const askYes = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));

export const yesArg = { yes: flag('do not ask; required without a terminal') } as const;

/**
 * Confirms a change: asks at a terminal, and needs --yes elsewhere. The returned function throws AppError input.bad.
 */
export function createConfirm(yes: boolean, io: Io): (question: string) => Promise<boolean> {
  if (yes) return async () => true;
  return async (question) => {
    if (!hasInputTerminal(io))
      throw new AppError('input.bad', 'this needs confirmation, and there is no terminal: add --yes');
    return askYes(io, clean(question));
  };
}

// Which agent `init` without AGENT sets up: the list of those on this machine, and a question.

/** Returns null if nobody could be asked. The list has been printed. */
export async function chooseAgent({
  io,
  out,
  note,
  flags,
}: Context<{ readonly json?: boolean | undefined }>): Promise<string | null> {
  const found = await findAll({ cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env });
  if (flags.json) {
    await out.json(found);
    return null;
  }
  const rows = [...agents.values()].map(({ name, title }) => [
    { text: name, paint: out.colors.bold },
    { text: title },
    { text: whereIs(found.find((one) => one.name === name)) },
  ]);
  await out.print(...formatTable(['AGENT', '', 'INSTALLED'], rows, out.width()));
  if (!canAsk(io)) {
    note('name one: stopgate init AGENT');
    return null;
  }
  const name = await ask(io, 'Which one? ');
  return name === '' ? null : name;
}

/** @param installed undefined: it has no settings */
function whereIs(installed: Installed | undefined): string {
  if (installed === undefined) return 'needs nothing: init prints a line for it';
  return installed.binary ?? (installed.hasFolder ? 'only its settings' : '-');
}

async function findAll(places: Places): Promise<Installed[]> {
  const found: Installed[] = [];
  for (const { name, title, setup } of agents.values()) {
    const loaded = await setup();
    if (loaded.kind === 'settings') found.push(findInstalled({ name, title, program: loaded.program }, places));
  }
  return found;
}

// "Did you mean": the nearest known word.

/**
 * Returns the word that was meant; null if none is near. The beginning of a word is near; else up to a third of its
 * letters may be wrong, missing or swapped.
 */
export function suggest(word: string, known: readonly string[]): string | null {
  const begun = known.filter((each) => word.length > 1 && each.startsWith(word));
  if (begun[0] !== undefined) return begun[0];
  const ranked = known.map((each) => ({ each, away: distance(word, each) })).sort((a, b) => a.away - b.away);
  const [best] = ranked;
  return best !== undefined && best.away <= Math.max(1, Math.floor(best.each.length / 3)) ? best.each : null;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const here = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const best = Math.min(changed, (above[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1);
      const swaps = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      here.push(swaps && row > 1 && column > 1 ? Math.min(best, (before[column - 2] ?? 0) + 1) : best);
    }
    before = above;
    above = here;
  }
  return above[b.length] ?? 0;
}
