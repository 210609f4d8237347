/** What is wrong with the policies: each problem is a link to its place in the text. */
import type { RefObject } from 'preact';
import type { Issue } from '../data/api.ts';
import { Text } from '../ui/text.tsx';

export type PolicyProblem = { readonly message: string; readonly issues: readonly Issue[] };
type Props = { readonly problem: PolicyProblem; readonly area: RefObject<HTMLTextAreaElement | null> };

export function PolicyProblems({ problem: { message, issues }, area }: Props) {
  if (issues.length === 0) return <p class="problem">{message}</p>;
  return (
    <ul class="problem plain">
      {issues.map(({ line = 1, column = 1, path, message: text }, index) => (
        <li key={index}>
          <button type="button" class="link" onClick={() => selectAt(area.current, line, column)}>
            line {line}, column {column}
          </button>{' '}
          {path !== '' && <code>{path}</code>} <Text value={text} />
        </li>
      ))}
    </ul>
  );
}

/** Line and column are 1-based. */
function selectAt(area: HTMLTextAreaElement | null, line: number, column: number): void {
  if (area === null) return;
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, it) => sum + it.length + 1, 0) + column - 1;
  area.focus();
  area.setSelectionRange(start, start + 1);
}
