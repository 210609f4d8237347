/** Finds the files named in a patch, either in the format of `apply_patch` or a unified diff. */

/** Longer than any patch that a model writes. The files of a longer one count as unknown. */
const patchCharsMax = 1_000_000;

const ownHeader = /^\*\*\* (?:Add File|Update File|Delete File|Move to|Rename to|Copy to): ?(.+?)\s*$/gm;
/**
 * `--- a/src/a.ts`, optionally followed by a tab and a time. The other side of an added or removed file is `/dev/null`.
 */
const diffHeader = /^(?:---|\+\+\+) (?:[abciow]\/)?([^\t\r\n]+?)(?:\t[^\r\n]*)?\s*$/gm;
const gitMove = /^(?:rename|copy) (?:from|to) (.+?)\s*$/gm;

/** An unknown header of an `apply_patch` patch. It may name further files. */
const foreignHeader =
  /^\*\*\* (?!(?:Begin Patch|End Patch|End of File)\s*$|(?:Add File|Update File|Delete File|Move to|Rename to|Copy to): ?\S)/m;

/** Returns an empty list if the files are unknown: the patch names none, or not all of its headers can be read. */
export function filesInPatch(patch: unknown): string[] {
  if (typeof patch !== 'string' || patch.length > patchCharsMax || foreignHeader.test(patch)) return [];
  const found = [ownHeader, diffHeader, gitMove].flatMap((header) =>
    [...patch.matchAll(header)].map(([, file = '']) => unquoted(file.trim())),
  );
  return [...new Set(found.filter((file) => file !== '' && file !== '/dev/null'))];
}

const unquoted = (file: string): string => /^"(.*)"$/.exec(file)?.[1] ?? file;

/** Returns the command if it runs `apply_patch`, otherwise undefined. */
export function patchInCommand(command: string): string | undefined {
  const isPatch = /\bapply_?patch\b/.test(command) && command.includes('*** Begin Patch');
  return isPatch ? command : undefined;
}
