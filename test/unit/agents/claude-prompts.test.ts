/** Claude Code's prompts: which of them a person typed, and what the agent gets with them. */
import { describe, expect, test } from 'vitest';
import type { PriorWorker } from '../../../src/agents/index.ts';
import { draftsOf, heartbeat } from './entry-drafts.ts';
import { recorded } from './recordings/claude.ts';

const { read, translate, drafts } = draftsOf('claude');

describe('a prompt that no person typed', () => {
  const reason = '1 of 2 plan steps remain: Fix the lint';
  const nextPrompt = 'Go on with the plan: Fix the lint. Then stop again.';
  const blocked = { lastDecision: { decision: 'block', reason, nextPrompt } } as const;
  const prompted = (prompt: string, prior: Partial<PriorWorker>) =>
    drafts({ ...recorded('UserPromptSubmit'), prompt }, prior);

  test.each([
    ['the reason', reason],
    ['the next prompt', nextPrompt],
    ['with the prefix', `Stop hook feedback:\n${nextPrompt}`],
    ['with the prefix and the command line', `Stop hook feedback:\n- [node /opt/hooks/some-long-name.mjs]: ${reason}`],
    ['with other line ends and space', `  ${nextPrompt}\r\n`],
    ['with other text around it', `[hook] ${reason}`],
  ])('our own block: %s', (_name, prompt) => {
    expect(prompted(prompt, blocked)).toEqual([heartbeat]);
  });

  test('our own block, cut and without colours', () => {
    const long = `\u001b[31mFailed\u001b[0m ${'tests '.repeat(1_000)}`;
    const known = { lastDecision: { decision: 'block', action: 'continue', reason, nextPrompt: long } } as const;
    const sent = read(recorded('Stop')).answer(known.lastDecision) as {
      hookSpecificOutput: { additionalContext: string };
    };
    const text = `Stop hook feedback:\n${sent.hookSpecificOutput.additionalContext}`;
    expect(prompted(text, known)).toEqual([heartbeat]);
  });

  test.each([
    ['nothing was decided', reason, { lastDecision: null }],
    ['it was allowed', reason, { lastDecision: { decision: 'allow', reason, nextPrompt: null } as const }],
    ['another text', 'please go on', blocked],
    [
      'a quotation in a person’s own text',
      `It keeps saying "${reason}". ${'Please leave the lint alone. '.repeat(3)}`,
      blocked,
    ],
  ])('a person’s: %s', (_name, prompt, known) => {
    expect(prompted(prompt, known)).toEqual([['prompt.submitted', { text: prompt }]]);
  });

  test('a block without text matches no prompt', () => {
    const known = { lastDecision: { decision: 'block', reason: '', nextPrompt: null } } as const;
    expect(prompted('hello', known)).toEqual([['prompt.submitted', { text: 'hello' }]]);
  });

  test('every finished background task is recorded once; tags inside a result do not count', () => {
    const end = (id: string) =>
      `<task-notification>\n<task-id>${id}</task-id>\n<result><task-id>no</task-id></result>\n</task-notification>`;
    const several = `\n${end('a')}\n${end('b')}\n${end('a')}`;
    expect(prompted(several, {})).toEqual([
      ['background.finished', { id: 'a' }],
      ['background.finished', { id: 'b' }],
      ['prompt.submitted', { text: several, by: 'system' }],
    ]);
    const unread = '<task-notification>who knows';
    expect(prompted(unread, {})).toEqual([['prompt.submitted', { text: unread, by: 'system' }]]);
  });

  test('a long prompt is cut at a whole character', () => {
    const [, data] = prompted(`${'x'.repeat(1_999)}😀 and more`, {})[0] as [string, { text: string }];
    expect(data.text).toBe('x'.repeat(1_999));
  });
});

describe('the resolution of an escalation', () => {
  const told = (name: string, resolution: string | null) => translate(recorded(name), { resolution }).immediateAnswer;

  test('is delivered only with the next prompt or session start', () => {
    for (const [name, hookEventName] of [
      ['UserPromptSubmit', 'UserPromptSubmit'],
      ['SessionStart.resume', 'SessionStart'],
    ] as const)
      expect(told(name, 'Use the \u001b[1mother\u001b[0m key')).toEqual({
        hookSpecificOutput: { hookEventName, additionalContext: expect.stringMatching(/says: Use the other key$/) },
      });
    expect(told('PostToolUse', 'x')).toBeNull();
    expect(told('UserPromptSubmit', null)).toBeNull();
  });

  test('is cut to what an agent reads', () => {
    expect(JSON.stringify(told('UserPromptSubmit', 'x'.repeat(10_000))).length).toBeLessThan(2_100);
  });
});
