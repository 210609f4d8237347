/** The commands that an agent ran, as evidence for `ran` checks (protocol.md §8). */
import { commandLengthMax, commandsMax } from '../values/limits.ts';
import { cutEnd } from '../values/text.ts';
import { textMatcher, type Work } from './glob.ts';

/** A command reported by a tool. `seq`: the sequence number of its entry. `ok` is false if it failed. */
type RanCommand = { readonly command: string; readonly seq: number; readonly ok: boolean };

/**
 * The actions of a worker that `ran` checks read. Prompts, claims and new sessions do not clear it. Numbers are
 * sequence numbers of entries, and null if there was no such entry.
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

/** Shortens a command to the part that is kept. */
export const cutCommand = (command: string): string => cutEnd(command, commandLengthMax);

/** Adds a command, dropping the oldest if there are too many. Ignores empty commands. */
export const addCommand = (commands: readonly RanCommand[], ran: RanCommand): readonly RanCommand[] =>
  ran.command === '' ? commands : [...commands, { ...ran, command: cutCommand(ran.command) }].slice(-commandsMax);

/** Returns the whole command, and each part between `&&`, `;`, `|` or `||`. Ignores quoting. */
function partsOf(command: string): string[] {
  const parts = command.split(/&&|\|\|?|;/).map((part) => part.trim());
  return [...new Set([command, ...parts])].filter((part) => part !== '');
}

/** Returns the globs that no command matches; null if matching exceeded the step limit. */
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
