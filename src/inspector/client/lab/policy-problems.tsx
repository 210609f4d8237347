/** What is wrong with the policies: each problem is a link to its place in the text. */
import { Text } from '../ui/text.tsx';
import type { Problem } from './comparison.ts';

type Props = { readonly problem: Problem; readonly goTo: (line: number, column: number) => void };

export function PolicyProblems({ problem: { message, issues }, goTo }: Props) {
  if (issues.length === 0) return <p class="problem">{message}</p>;
  return (
    <ul class="problem plain">
      {issues.map(({ line = 1, column = 1, path, message: text }, index) => (
        <li key={index}>
          <button type="button" class="link" onClick={() => goTo(line, column)}>
            line {line}, column {column}
          </button>{' '}
          {path !== '' && <code>{path}</code>} <Text value={text} />
        </li>
      ))}
    </ul>
  );
}
