/** The dry turns of `stopgate doctor`, with the real programs that are not available in CI. */
import { test } from 'vitest';
import { copilotCli } from './support/copilot.ts';
import { expectDryTurn } from './support/dry-turn.ts';
import { geminiCli } from './support/gemini.ts';
import { opencode } from './support/opencode.ts';
import { qwenCode } from './support/qwen.ts';
import { clineCli, droidCli, kimiCode } from './support/table.ts';

test.each([
  ['gemini', geminiCli],
  ['copilot', copilotCli],
  ['qwen', qwenCode],
  ['opencode', opencode],
  ['droid', droidCli],
  ['kimi', kimiCode],
])('%s: the hook fires, and a block holds', (agent, program) => expectDryTurn(agent, program), 300_000);

test('cline: the hook fires, and the doctor says that it cannot block', async () => {
  await expectDryTurn(
    'cline',
    clineCli,
    /^dry turn: .*TaskComplete fired; its hooks report a stop, but cannot block it$/,
  );
}, 300_000);
