/** Hooks are recognised by what they call, also those that a person wrote. */
import { expect, test } from 'vitest';
import { hookTarget } from '../../../src/agents/doctor/hook-doctor.ts';
import { isOurs } from '../../../src/agents/setup/line.ts';

test.each([
  ['npx in exec form', { command: 'npx', args: ['stopgate', 'hook', 'claude', '--policy', 'strict'] }, true],
  ['our script in exec form', { command: 'node', args: ['/x/hook-command/main.js', 'claude', '--http', '4280'] }, true],
  ['another agent in exec form', { command: 'npx', args: ['stopgate', 'hook', 'codex'] }, false],
  ['arguments that are no list', { command: 'npx', args: 'stopgate hook claude' }, false],
])('%s', (_what, handler, isExpected) => {
  expect(isOurs('claude', handler)).toBe(isExpected);
  if (isExpected) expect(hookTarget({ event: 'Stop', value: handler })).toContain((handler.args as string[]).join(' '));
});
