/** Adds a hint to the prompt of a block: a person can let the agent stop without being judged (protocol.md §5). */
import type { JudgedWorker } from '../guards/attempt.ts';
import type { Ruling } from '../guards/guard.ts';
import type { Policy } from '../policy/policy.ts';

/**
 * Agents whose adapters read `/stopgate off` in a person's prompt. A fact of the rules, because it decides the text of
 * decisions; `test/unit/agents/agents.test.ts` compares it with the adapters.
 */
export const agentsWithPauseCommand: ReadonlySet<string> = new Set([
  'claude',
  'cline',
  'codex',
  'copilot',
  'cursor',
  'droid',
  'gemini',
  'goose',
  'kimi',
  'kiro',
  'opencode',
  'qwen',
]);

const pauseHint = 'A person can let it stop unjudged by typing /stopgate off.';

/** Returns the prompt with the hint at the end of its first paragraph, if a person can pause the worker like that. */
export function withPauseHint(
  { agent, interactive }: Pick<JudgedWorker, 'agent' | 'interactive'>,
  { pause }: Pick<Policy, 'pause'>,
  { decision, nextPrompt }: Pick<Ruling, 'decision' | 'nextPrompt'>,
): string | null {
  if (decision !== 'block' || nextPrompt === null) return nextPrompt;
  const canPause = interactive !== false && agentsWithPauseCommand.has(agent ?? '') && pause === 'allow';
  if (!canPause) return nextPrompt;
  const [first = '', ...others] = nextPrompt.split('\n\n');
  return [`${first} ${pauseHint}`, ...others].join('\n\n');
}
