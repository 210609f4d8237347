/** The commands that an agent ran, as evidence for `ran` checks (protocol.md §8). */
import { commandLengthMax, commandsMax } from '../values/limits.ts';
import { cutEnd } from '../values/text.ts';
import { textMatcher, type Work } from './glob.ts';

/** A command that a tool reported. `seq`: its entry. `ok` false: it failed. */
export type RanCommand = { readonly command: string; readonly seq: number; readonly ok: boolean };

/**
 * What a worker has done, as `ran` checks see it. Nothing clears it: not a prompt, a claim or a new session. Each number is
 * an entry's place in the log; null: there was none.
 */
export type Evidence = {
  /** The last commands, oldest first. */
  readonly commands: readonly RanCommand[];
  /** The last entry that changed files, and the last file that it named. */
  readonly lastChange: { readonly seq: number; readonly file: string } | null;
  /** The last prompt by a person. */
  readonly promptedSeq: number | null;
  /** The last claim of a task. */
  readonly claimedSeq: number | null;
};

/** The beginning of a command, which is what is kept of it. */
export const cutCommand = (command: string): string => cutEnd(command, commandLengthMax);

/** Adds a command. One too many drops the oldest. An empty one says nothing. */
export const addCommand = (commands: readonly RanCommand[], ran: RanCommand): readonly RanCommand[] =>
  ran.command === '' ? commands : [...commands, { ...ran, command: cutCommand(ran.command) }].slice(-commandsMax);

/** The whole command, and each part between `&&`, `;`, `|` or `||`. Quotes are not looked at. */
function partsOf(command: string): string[] {
  const parts = command.split(/&&|\|\|?|;/).map((part) => part.trim());
  return [...new Set([command, ...parts])].filter((part) => part !== '');
}

/** Returns the globs that no command matches; null: matching took more steps than an evaluation may. */
export function unmatchedGlobs(
  globs: readonly string[],
  commands: readonly RanCommand[],
  work: Work,
): readonly string[] | null {
  const texts = commands.flatMap(({ command }) => partsOf(command));
  const unmatched: string[] = [];
  for (const glob of globs) {
    const matches = textMatcher(glob, work);
    const results = firstMatch(texts, matches);
    if (results === null) return null;
    if (!results) unmatched.push(glob);
  }
  return unmatched;
}

function firstMatch(texts: readonly string[], matches: (text: string) => boolean | null): boolean | null {
  for (const text of texts) {
    const found = matches(text);
    if (found !== false) return found;
  }
  return false;
}
