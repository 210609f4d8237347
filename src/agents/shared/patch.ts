/** The files that a patch names: of `apply_patch`, as a tool or in a shell, and of a unified diff. */

/** Longer than any patch of a model; what comes behind is not read, and then the files are not known. */
const patchCharsMax = 1_000_000;

const ownHeader = /^\*\*\* (?:Add File|Update File|Delete File|Move to|Rename to|Copy to): ?(.+?)\s*$/gm;
/** `--- a/src/a.ts`, with a time behind a tab. A removed or added file has `/dev/null` on the other side. */
const diffHeader = /^(?:---|\+\+\+) (?:[abciow]\/)?([^\t\r\n]+?)(?:\t[^\r\n]*)?\s*$/gm;
const gitMove = /^(?:rename|copy) (?:from|to) (.+?)\s*$/gm;

/** A line of such a patch that is no header of the above, nor one of its marks: a newer kind may name further files. */
const foreignHeader =
  /^\*\*\* (?!(?:Begin Patch|End Patch|End of File)\s*$|(?:Add File|Update File|Delete File|Move to|Rename to|Copy to): ?\S)/m;

/** Empty: it names none, or not all, that can be read, so it may have changed any. */
export function filesInPatch(patch: unknown): string[] {
  if (typeof patch !== 'string' || patch.length > patchCharsMax || foreignHeader.test(patch)) return [];
  const found = [ownHeader, diffHeader, gitMove].flatMap((header) =>
    [...patch.matchAll(header)].map(([, file = '']) => unquoted(file.trim())),
  );
  return [...new Set(found.filter((file) => file !== '' && file !== '/dev/null'))];
}

const unquoted = (file: string): string => /^"(.*)"$/.exec(file)?.[1] ?? file;

/** Does a shell command apply a patch of the kind that `apply_patch` takes? Undefined: it does not. */
export function patchInCommand(command: string): string | undefined {
  const isPatch = /\bapply_?patch\b/.test(command) && command.includes('*** Begin Patch');
  return isPatch ? command : undefined;
}
