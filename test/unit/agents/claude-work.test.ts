/** Claude Code's tools, plan, background work and the output of its stops. */
import { describe, expect, test } from 'vitest';
import { type PriorWorker, unknownWorker } from '../../../src/agents/index.ts';
import { draftsOf } from './entry-drafts.ts';
import { recorded } from './recordings/claude.ts';

const { translate, drafts } = draftsOf('claude');
const call = { tool: 'Bash', call: 'toolu_fake_1_0' };
const bash = ['tool.used', { tool: 'Bash', ok: true, call: 'toolu_fake_1_0', command: 'echo hello' }];
const session = 'b196feb6-47b9-4de4-b065-6c0a87fc41c0';
const child = '5e29e641-46ab-471e-ac1c-2c2c7e38f1ee-a8e954343990513d2';

describe('tools', () => {
  const used = (tool_name: string, tool_input: object, more: object = {}) => ({
    ...recorded('PostToolUse'),
    tool_name,
    tool_input,
    ...more,
  });
  const filesOf = (body: object, prior: Partial<PriorWorker> = {}) =>
    drafts(body, prior)
      .filter(([type]) => type === 'tool.used')
      .map(([, data]) => (data as { files?: string[] }).files)[0];

  test.each([
    ['Write', { file_path: '/workspace/project/src/a.ts' }, ['src/a.ts']],
    ['Edit', { file_path: '/workspace/project/a.ts' }, ['a.ts']],
    ['MultiEdit', { file_path: '/workspace/project/..a/b.ts' }, ['..a/b.ts']],
    ['NotebookEdit', { notebook_path: '/workspace/project/n.ipynb' }, ['n.ipynb']],
    ['Write', { file_path: '/etc/hosts' }, ['/etc/hosts']],
    ['Write', { file_path: '/workspace/project-two/a.ts' }, ['/workspace/project-two/a.ts']],
    ['Write', { file_path: 'src/a.ts' }, ['src/a.ts']],
    ['Read', { file_path: '/workspace/project/src/a.ts' }, undefined],
    ['Write', { file_path: '' }, undefined],
    ['Write', {}, undefined],
  ])('%s with %j changes %j', (tool, input, files) => {
    expect(filesOf(used(tool, input))).toEqual(files);
  });

  test('a path is relative to the agent’s current folder', () => {
    const body = used('Write', { file_path: '/workspace/project/src/a.ts' }, { cwd: '/workspace/project/src' });
    expect(drafts(body)[0]).toEqual(['worker.moved', { cwd: '/workspace/project/src' }]);
    expect(filesOf(body)).toEqual(['a.ts']);
    expect(filesOf(body, { cwd: null })).toEqual(['a.ts']);
  });

  test('a Windows path', () => {
    const known = { cwd: 'C:\\work' };
    const write = (file_path: string) => used('Write', { file_path }, { cwd: 'c:\\work\\' });
    expect(filesOf(write('C:\\work\\src\\a.ts'), known)).toEqual(['src/a.ts']);
    expect(filesOf(write('c:/Work/src/../a.ts'), known)).toEqual(['a.ts']);
    expect(filesOf(write('D:\\a.ts'), known)).toEqual(['D:\\a.ts']);
  });

  test('a failed write has changed nothing', () => {
    const body = { ...used('Write', { file_path: '/workspace/project/a.ts' }), hook_event_name: 'PostToolUseFailure' };
    expect(filesOf(body)).toBeUndefined();
  });

  test('a tool’s result shows that the person has answered and that the limit is over', () => {
    const known = { awaitsInput: true, limited: true };
    const first = [
      ['input.received', {}],
      ['limit.cleared', {}],
    ];
    expect(drafts(recorded('PostToolUse'), known)).toEqual([...first, bash]);
    expect(drafts(recorded('PostToolUseFailure'), known).slice(0, 2)).toEqual(first);
    // A refused permission has no result, so only the stop shows that the agent no longer waits.
    expect(drafts(recorded('Stop'), known)).toEqual(first);
    expect(drafts(recorded('PreToolUse'), known)).toEqual([['tool.started', call]]);
  });

  test('a tool call has the same id at its start and its end', () => {
    const [[, started] = []] = drafts(recorded('PreToolUse'));
    const [[, used] = []] = drafts(recorded('PostToolUse'));
    expect(started).toEqual(call);
    expect(used).toMatchObject(call);
  });

  test.each([
    ['a command that only reads', { tool_input: { command: 'git status' } }, { tool: 'Bash', ok: true }],
    ['another shell', { tool_name: 'PowerShell' }, { tool: 'PowerShell', ok: true, changes: 'unknown' }],
    ['no command', { tool_input: 'none' }, { tool: 'Bash', ok: true, changes: 'unknown' }],
    ['no tool', { tool_name: undefined }, { tool: 'PreSkillShellCommand', ok: true, changes: 'unknown' }],
  ])('a shell command of a skill, before it has run: %s', (_case, more, data) => {
    const call = recorded('PreSkillShellCommand').tool_use_id;
    expect(drafts({ ...recorded('PreSkillShellCommand'), ...more })).toEqual([['tool.used', { ...data, call }]]);
  });

  test('a question waits for a person', () => {
    const tool_input = { questions: [{ question: 'Which key?', options: [{ label: 'a' }] }] };
    const body = { ...recorded('PreToolUse'), tool_name: 'AskUserQuestion', tool_input };
    const asked = {
      kind: 'question',
      tool: 'AskUserQuestion',
      message: 'Which key?',
      detail: JSON.stringify(tool_input),
    };
    expect(drafts(body)).toEqual([['input.requested', asked]]);
  });

  test('a sub-agent’s tools are its own', () => {
    const body = { ...recorded('PostToolUse'), agent_id: 'a1', agent_type: 'Explore' };
    const { worker, entries } = translate(body);
    expect([worker, entries.map(({ id }) => id)]).toEqual([`${session}-a1`, [`${session}-a1`]]);
  });
});

describe('the plan', () => {
  const planOf = (body: object) => drafts(body)[1];
  const dataOf = <Data>(body: object) => (planOf(body) ?? [])[1] as Data;
  const todo = (todos: unknown) => ({ ...recorded('PostToolUse'), tool_name: 'TodoWrite', tool_input: { todos } });
  const listed = (tasks: unknown) => ({ ...recorded('PostToolUse.TaskList'), tool_response: { tasks } });

  test('TodoWrite replaces the whole list', () => {
    const todos = [
      { content: 'a', status: 'completed', activeForm: 'doing a' },
      { content: 'b', status: 'pending', activeForm: 'doing b' },
    ];
    const steps = [
      { title: 'a', status: 'completed' },
      { title: 'b', status: 'pending' },
    ];
    expect(planOf(todo(todos))).toEqual(['plan.updated', { steps }]);
    expect(planOf(todo('none'))).toBeUndefined();
  });

  test('TaskUpdate may change the title, be refused, or change no step', () => {
    const body = recorded('PostToolUse.TaskUpdate.completed');
    expect(planOf({ ...body, tool_input: { taskId: 7, subject: 'New' } })).toEqual([
      'step.updated',
      { step: '7', title: 'New' },
    ]);
    expect(planOf({ ...body, tool_response: { success: false, error: 'Task not found' } })).toBeUndefined();
    expect(planOf({ ...body, tool_response: { success: true, updatedFields: [] } })).toBeUndefined();
    expect(planOf({ ...body, tool_input: { taskId: '1', owner: 'me' } })).toBeUndefined();
  });

  test('an invalid id always becomes the same valid one', () => {
    const body = (id: string) => ({
      ...recorded('PostToolUse.TaskCreate'),
      tool_response: { task: { id, subject: 's' } },
    });
    const step = (id: string) => dataOf<{ step: string }>(body(id)).step;
    expect(step('a.b')).toMatch(/^a-b-[0-9a-f]{16}$/);
    expect(step('a.b')).toBe(step('a.b'));
    expect(step('a.b')).not.toBe(step('a b'));
    expect(step('…')).toMatch(/^id-[0-9a-f]{16}$/);
  });

  test('TaskList omits deleted tasks; an empty list is a plan too; other text changes nothing', () => {
    const task = (id: string, status: string) => ({ id, subject: `s${id}`, status });
    expect(planOf(listed([task('1', 'deleted'), task('2', 'pending')]))).toEqual([
      'plan.updated',
      { steps: [{ title: 's2', status: 'pending', step: '2' }] },
    ]);
    expect(planOf(listed([]))).toEqual(['plan.updated', { steps: [] }]);
    expect(planOf({ ...recorded('PostToolUse.TaskList'), tool_response: 'No tasks found' })).toBeUndefined();
  });

  test('a step that a sub-agent did not create is its session’s, and so is the list', () => {
    const asChild = { agent_id: 'a1', agent_type: 'general-purpose' };
    const updated = { ...recorded('PostToolUse.TaskUpdate.completed'), ...asChild };
    const { worker, entries } = translate(updated);
    const ofStep = (made: typeof entries) => made.find(({ type }) => type === 'step.updated')?.id;
    expect(ofStep(entries)).toBe(recorded('PostToolUse.TaskUpdate.completed').session_id);
    const plan = [{ step: '1', title: 'its own', status: 'pending' }];
    expect(ofStep(translate(updated, { plan }).entries)).toBe(worker);
    expect(ofStep(translate({ ...recorded('PostToolUse.TaskCreate'), ...asChild }).entries)).toMatch(/-a1$/);
    expect(drafts({ ...recorded('PostToolUse.TaskList'), ...asChild }).map(([type]) => type)).toEqual(['tool.used']);
  });

  test('if there are too many steps, completed ones are dropped and long titles are cut', () => {
    const tasks = Array.from({ length: 600 }, (_, index) => ({
      id: String(index),
      subject: `${index} ${'長い題名'.repeat(100)}`,
      status: index < 200 ? 'completed' : 'pending',
    }));
    const { steps } = dataOf<{ steps: { status: string; title: string }[] }>(listed(tasks));
    expect(steps).toHaveLength(500);
    expect(steps.filter(({ status }) => status === 'pending')).toHaveLength(400);
    expect(steps[0]?.title).toMatch(/^0 長い/);
  });
});

describe('stops', () => {
  test('background work starts, ends, or is still running', () => {
    const tasks = [
      { id: 'new', type: 'shell', status: 'running' },
      { id: 'old', type: 'shell', status: 'running' },
      { id: 'over', type: 'shell', status: 'completed' },
    ];
    expect(drafts({ ...recorded('Stop'), background_tasks: tasks }, { background: ['old', 'over', 'gone'] })).toEqual([
      ['background.started', { id: 'new', kind: 'shell' }],
      ['background.finished', { id: 'over' }],
      ['background.finished', { id: 'gone' }],
    ]);
  });

  test('a call without the list changes no background work', () => {
    const { background_tasks: _, ...body } = recorded('Stop');
    expect(drafts(body, { background: ['a'] })).toEqual([]);
  });

  test('a sub-agent is not its own background work, and its stop is its own', () => {
    const { worker, entries } = translate(recorded('SubagentStop'), { background: [] });
    expect([worker, entries]).toEqual([child, []]);
  });

  test('a sub-agent’s id is unique, no matter how long its session’s id is', () => {
    const long = 's'.repeat(128);
    const { worker, entries } = translate({ ...recorded('SubagentStop'), session_id: long }, unknownWorker);
    expect(worker).toMatch(/^s{100}-[0-9a-f]{16}$/);
    expect(entries[0]?.data).toMatchObject({ parent: long });
  });

  const outputOf = (text: string) =>
    translate({ ...recorded('Stop'), last_assistant_message: text }).stop?.output ?? '';

  test('only the last 32 KiB of the output are kept, in whole characters and with a note', () => {
    const output = outputOf(`begin ${'€'.repeat(20_000)}<promise>COMPLETE</promise>`);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(32_768);
    expect(Buffer.byteLength(output)).toBeGreaterThan(32_760);
    expect(output).toMatch(/^\[stopgate: [^\n]*\n€+<promise>COMPLETE<\/promise>$/);
    expect(outputOf('x'.repeat(32_768))).toBe('x'.repeat(32_768));
    expect(outputOf(`${'😀'.repeat(10_000)}x`)).toMatch(/\n(😀)+x$/u);
  });

  test('an output that grows when escaped still fits an entry', () => {
    const output = outputOf('\u0001'.repeat(40_000));
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThan(57_344);
  });

  test('only a failure caused by a usage limit is stored', () => {
    const failed = (more: object) => drafts({ ...recorded('StopFailure'), error: undefined, ...more });
    expect(failed({ error: 'rate_limit' })).toEqual([['limit.reached', {}]]);
    expect(failed({ error: '429', error_type: 'rate_limit' })).toEqual([['limit.reached', {}]]);
    expect(failed({ error: 'server_error' })).toEqual([]);
  });
});
