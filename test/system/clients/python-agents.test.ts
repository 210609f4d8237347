/**
 * LangGraph and the OpenAI Agents SDK with a scripted model: blocked once with the missing work, then allowed. They are
 * large (a minute of downloads), so this runs with STOPGATE_TEST_ALL alone.
 */
import { expect, onTestFinished, test } from 'vitest';
import { readVariable } from '../../../src/config/environment.ts';
import { scriptModel } from '../../support/scripted-model.ts';
import { openFollower } from './follow-page.ts';

const finished = 'I have finished the report.';
const written = 'The report is written.';
const oneRun = [finished, { tool: 'write_report', arguments: { text: 'Locks.' } }, written];

test.runIf(readVariable('STOPGATE_TEST_ALL'))(
  'the examples of docs/python.md continue until they may stop',
  async () => {
    const reader = await openFollower();
    onTestFinished(() => reader.close());
    const model = await scriptModel([...oneRun, ...oneRun]);
    const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'key', MODEL: 'scripted' };
    await reader.type('python3 -m venv .venv && .venv/bin/pip install --quiet /path/to/stopgate/clients/python');
    await reader.follow('docs/python.md', 'test/system/clients/python-agents.test.ts', env);
    expect(model.asked).toHaveLength(6);
    for (const second of [model.asked[1], model.asked[4]])
      expect(second?.messages.at(-1)).toMatchObject({
        role: 'user',
        content: expect.stringContaining('Missing required files: report.md'),
      });
  },
);
