/** What an agent was told beyond what stands above: most of a prompt repeats the reason and the findings. */
import type { Decision } from '../../machines/index.ts';

/** The lines of the prompt that are neither in the reason nor in what the checks found. */
export function toldBeyond({ nextPrompt, reason, feedback }: Decision): string {
  const found = feedback.flatMap(({ check, message, details }) => [
    ...[check, message],
    typeof details === 'string' ? details : JSON.stringify(details ?? ''),
  ]);
  const known = [reason, ...found].join('\n');
  const isNew = (line: string) => {
    const text = line.replace(/^[-*•\s]+/, '').trim();
    return text === '' || (!known.includes(text) && !text.includes(reason));
  };
  return (nextPrompt ?? '')
    .split('\n')
    .filter(isNew)
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
