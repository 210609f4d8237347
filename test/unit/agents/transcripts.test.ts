/** Transcripts of Claude Code and rollouts of Codex, read as the hook calls that the agents would have made. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { claudeTranscripts } from '../../../src/agents/claude/transcript.ts';
import { codexRollouts } from '../../../src/agents/codex/rollout.ts';
import type { RecordedStep, Recording } from '../../../src/agents/recording.ts';

const linesOf = (name: string): string[] =>
  readFileSync(new URL(`./recordings/${name}`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');

function read(recording: Recording, lines: readonly string[]): RecordedStep[] {
  const fields = lines.filter((line) => !recording.canSkip(line)).map((line) => JSON.parse(line));
  const identity = fields.map(recording.identify).find((found) => found !== null);
  if (identity === undefined || identity === null) throw new Error('no session');
  const reader = recording.open(identity);
  return [...fields.flatMap((line) => reader.read(line)), ...reader.end()];
}

/** One line per call: the event and what it is about. */
const shown = (steps: readonly RecordedStep[]): string[] =>
  steps.flatMap((step) => {
    if (step.kind === 'usage') return [];
    const { hook_event_name, agent_id, prompt, tool_name, last_assistant_message } = step.body;
    const about = [agent_id, tool_name, prompt ?? last_assistant_message].filter((text) => text !== undefined);
    return [[hook_event_name, ...about].join(' ')];
  });

const folder = 'claude/projects/-workspace-project';
const parser = 'a26e9cfc-2d8b-4e25-9e81-85cf441835ae';

test('a resumed and compacted session of Claude Code: each turn once, without the commands of Claude Code', () => {
  const steps = read(claudeTranscripts, linesOf(`${folder}/${parser}.jsonl`));
  expect(shown(steps)).toEqual([
    'SessionStart',
    'UserPromptSubmit Write a parser for lists and test it',
    'PostToolUse TaskCreate',
    'PostToolUse TaskCreate',
    'PostToolUse Write',
    'PostToolUse TaskUpdate',
    'Stop The parser is written. Everything works and all tests pass.',
    'UserPromptSubmit You have not run the tests',
    'PostToolUse Bash',
    'PostToolUse TaskUpdate',
    'Stop Now it is done.',
    'UserPromptSubmit And now?',
    'PostToolUseFailure Bash',
    'Stop After the compaction.',
  ]);
  const used = steps.flatMap((step) => (step.kind === 'usage' ? [step.report] : []));
  expect(used.filter(({ output }) => output !== undefined)).toHaveLength(9);
  // Each of its four processes wrote what the session had cost until then.
  expect(used.flatMap(({ usd }) => usd ?? [])).toEqual([0.0024, 0.0018, 0.0012, 0.0012]);
});

test('the cost of another session, a smaller sum and a bad one are ignored', () => {
  const line = (fields: object) => JSON.stringify({ type: 'cost-state', sessionId: 's1', ...fields });
  const typed = { uuid: 'u1', sessionId: 's1', timestamp: '2026-03-02T12:00:00.000Z', message: { content: 'Go' } };
  const steps = read(claudeTranscripts, [
    JSON.stringify({ type: 'user', ...typed }),
    line({ totalCostUSD: 0.1 }),
    line({ totalCostUSD: 0.05 }),
    line({ totalCostUSD: '9' }),
    line({ totalCostUSD: 9, sessionId: 's2' }),
    line({ totalCostUSD: 0.3 }),
  ]);
  const costs = steps.filter(({ kind }) => kind === 'usage');
  expect(costs).toMatchObject([
    { atMs: Date.parse('2026-03-02T12:00:00.000Z'), turn: 'u1', worker: 's1', report: { usd: 0.1 } },
    { turn: 'u1', report: { usd: 0.2 } },
  ]);
});

test('a fork names the turns of the session that it copies', () => {
  const turnsOf = (name: string) => read(claudeTranscripts, linesOf(`${folder}/${name}.jsonl`)).map(({ turn }) => turn);
  const [original, fork] = [new Set(turnsOf(parser)), new Set(turnsOf('6d173f0e-df0f-4da8-8d37-254329ff8b4a'))];
  expect([...fork].filter((turn) => original.has(turn))).toHaveLength(2);
  expect([...fork].filter((turn) => !original.has(turn))).toHaveLength(1);
});

test('a stop that a hook has blocked is a stop, and the feedback is no prompt', () => {
  const steps = read(claudeTranscripts, linesOf(`${folder}/ffa1241e-762b-4af4-851f-483b002c99ec.jsonl`));
  expect(shown(steps).filter((line) => !line.includes('Tool'))).toEqual([
    'SessionStart',
    'UserPromptSubmit Blocked by a hook',
    'Stop Blocked once.',
    'Stop I ran the tests.',
  ]);
});

test('background work is listed until its notification', () => {
  const steps = read(claudeTranscripts, linesOf(`${folder}/a6550739-d82d-48d4-a36f-df5398f4907f.jsonl`));
  const stops = steps.flatMap((step) =>
    step.kind === 'call' && step.body.hook_event_name === 'Stop' ? [step.body.background_tasks] : [],
  );
  expect(stops).toMatchObject([[{ type: 'shell', command: 'sleep 1; echo hi', status: 'running' }], []]);
});

test("a sub-agent's transcript is attributed to it", () => {
  const [child = ''] = readdirSync(
    new URL(`./recordings/${folder}/4094ab71-fad3-4aac-aef0-9eb1b0ba6426/subagents`, import.meta.url),
  );
  const steps = read(claudeTranscripts, linesOf(`${folder}/4094ab71-fad3-4aac-aef0-9eb1b0ba6426/subagents/${child}`));
  const id = child.slice('agent-'.length, -'.jsonl'.length);
  expect(shown(steps)).toEqual([`SubagentStart ${id}`, `PostToolUse ${id} Write`, `SubagentStop ${id} child done`]);
});

// Older versions, written by hand: nothing runs them any more.

let count = 0;
const line = (fields: object): string => {
  count += 1;
  const uuid = `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  return JSON.stringify({
    sessionId: 's1',
    uuid,
    isSidechain: false,
    timestamp: '2026-03-02T12:00:00.000Z',
    ...fields,
  });
};
const prompt = (content: unknown, fields: object = {}) =>
  line({ type: 'user', message: { role: 'user', content }, ...fields });
const said = (id: string, content: object, fields: object = {}) =>
  line({ type: 'assistant', message: { id, content: [content], stop_reason: null }, ...fields });

test('without a reason for its end, a message is a stop if a prompt, the feedback of a hook or the end of the file follows', () => {
  const steps = read(claudeTranscripts, [
    prompt('Do it'),
    said('m1', { type: 'text', text: 'Let me look.' }),
    said('m1', { type: 'tool_use', id: 't1', name: 'Read', input: {} }),
    said('m2', { type: 'text', text: 'Hm.' }),
    said('m3', { type: 'text', text: 'Done.' }),
    prompt('More'),
    said('m4', { type: 'text', text: 'Half a' }),
    prompt('[Request interrupted by user]'),
    prompt('Go on'),
    said('m5', { type: 'text', text: 'Really done.' }),
    prompt('Stop hook feedback:\nNot yet.', { isMeta: true }),
    said('m6', { type: 'text', text: 'Now.' }),
  ]);
  expect(shown(steps).filter((call) => call.startsWith('Stop'))).toEqual([
    'Stop Done.',
    'Stop Really done.',
    'Stop Now.',
  ]);
});

test('sub-agents in the main file are told apart by the chain of their lines', () => {
  const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
  const steps = read(claudeTranscripts, [
    prompt('Do it'),
    prompt('Find it', { isSidechain: true, parentUuid: null, uuid }),
    said('m1', { type: 'text', text: 'Found.' }, { isSidechain: true, parentUuid: uuid }),
    said('m2', { type: 'text', text: 'Done.' }),
  ]);
  expect(shown(steps)).toEqual(expect.arrayContaining(['Stop Done.', 'SubagentStop side1 Found.']));
});

test('a command of Claude Code is no prompt; a slash command that starts a turn is', () => {
  const command = (name: string) => `<command-name>${name}</command-name>\n<command-args>now</command-args>`;
  const steps = read(claudeTranscripts, [
    prompt(command('/model')),
    prompt('<local-command-stdout>Set model</local-command-stdout>'),
    prompt(command('/review')),
    prompt('Review the change.', { isMeta: true }),
    said('m1', { type: 'text', text: 'Fine.' }),
  ]);
  expect(shown(steps)).toEqual(['SessionStart', 'UserPromptSubmit /review now', 'Stop Fine.']);
});

test('the delivery of an output is judged before it, and a question when it is asked', () => {
  const call = (id: string, name: string) => said('m1', { type: 'tool_use', id, name, input: { answer: 1 } });
  const result = prompt([{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }]);
  const steps = read(claudeTranscripts, [
    prompt('Do it'),
    call('t1', 'StructuredOutput'),
    result,
    call('t2', 'AskUserQuestion'),
  ]);
  expect(shown(steps).slice(2)).toEqual(['PreToolUse StructuredOutput', 'PreToolUse AskUserQuestion']);
});

test('a failure of the API is no stop', () => {
  const failure = said(
    'm1',
    { type: 'text', text: 'API Error: 529' },
    { isApiErrorMessage: true, error: 'overloaded' },
  );
  const steps = read(claudeTranscripts, [prompt('Do it'), failure]);
  expect(shown(steps)).toEqual(['SessionStart', 'UserPromptSubmit Do it', 'StopFailure API Error: 529']);
});

// Codex.

const rollouts = readdirSync(new URL('./recordings/codex/sessions/2026/11/29', import.meta.url)).sort();

test('a resumed session of Codex: each turn ends with a stop, and calls of tools that it lacks reach no hook', () => {
  const steps = read(codexRollouts, linesOf(`codex/sessions/2026/11/29/${rollouts[0]}`));
  expect(shown(steps)).toEqual([
    'SessionStart',
    'UserPromptSubmit Write a sum',
    'PostToolUse exec_command',
    'PostToolUse exec_command',
    'Stop First attempt to stop.',
    'PostToolUse create_goal',
    'Stop Second attempt to stop.',
    'UserPromptSubmit Go on',
    'PostToolUse update_goal',
    'Stop Resumed.',
  ]);
});

test('a sub-agent of Codex belongs to the session of its parent, and an aborted turn is no stop', () => {
  const [child = ''] = rollouts.filter((name) => name.includes('b5f3'));
  const lines = linesOf(`codex/sessions/2026/11/29/${child}`);
  expect(codexRollouts.identify(JSON.parse(lines[0] ?? ''))).toEqual({
    session: '01a224cd-b55b-7ac0-b363-43576632b1d7',
    child: '01a224cd-b5f3-78a3-88ab-8486a448df14',
  });
  expect(shown(read(codexRollouts, lines)).filter((call) => call.includes('Stop'))).toEqual([]);
});
