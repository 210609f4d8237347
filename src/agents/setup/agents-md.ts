/** The section about stopgate in a project's AGENTS.md, which `init --agents-md` adds and `init --remove` removes. */

export const agentsMd = 'AGENTS.md';

const begin = '<!-- stopgate: begin -->';
const end = '<!-- stopgate: end -->';
const section = `${begin}
## Before you stop

A service named stopgate judges each stop in this project: it looks at your plan and runs the project's checks.

- Finish or update your plan, and run the tests after your last change.
- If a stop is blocked, its reason is your next task. Do not weaken tests, checks, hooks or \`stopgate.yaml\` to get past it.
- If you cannot continue, say what you tried, what stops you and which answer you need. Do not claim to be done.
${end}
`;
/** Separates the section from the text before it. Always the same, so that it can be removed again. */
const gap = '\n\n';

/** @param text null if there is no file. @returns the file with the section of this version, once */
export function withSection(text: string | null): string {
  if (text === null) return section;
  const found = findSection(text);
  return found === null ? text + gap + section : text.slice(0, found.from) + section + text.slice(found.to);
}

/** @returns the file as it was before `withSection`, or null if it was only the section */
export function withoutSection(text: string | null): string | null {
  const found = text === null ? null : findSection(text);
  if (text === null || found === null) return text;
  const before = text.slice(0, found.from);
  const after = text.slice(found.to);
  if (before === '' && after === '') return null;
  return (before.endsWith(gap) ? before.slice(0, -gap.length) : before) + after;
}

/** Returns null if a marker is missing, because the text is then no longer ours. */
function findSection(text: string): { readonly from: number; readonly to: number } | null {
  const from = text.indexOf(`${begin}\n`);
  const last = from < 0 ? -1 : text.indexOf(`${end}\n`, from);
  return last < 0 ? null : { from, to: last + end.length + 1 };
}
