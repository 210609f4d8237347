/** Seed 000, Hook Taxonomy, Error Handling and Limitations. */
import { expect } from 'vitest';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { continues, createClaudeFleet, session } from '../claude-fleet.ts';
import { initClaude } from '../claude-settings.ts';
import { differs, holds, part } from '../rule.ts';
import { createVirtualLog, planOf } from '../virtual-log.ts';

const planned = { checks: [{ plan: {} }] };
const child = `${session}-${recorded('SubagentStart').agent_id}`;

/** Opens a session with an open plan step, so that its stop would be blocked. */
async function busyFleet(policy: object = planned) {
  const fleet = createClaudeFleet(policy);
  await fleet.mark('pending');
  return fleet;
}

export const taxonomy = [
  part(
    'Hook Taxonomy',
    differs(
      'UserPromptSubmit: before the input, cannot block, injects context',
      'a person’s prompt resets the retry count, because a person has seen the state; the context is the prompt with which a person resolved an escalation. A prompt that is a command to stopgate is kept from the model, because it is answered in place',
      async () => {
        const fleet = await busyFleet({ ...planned, retries: 1, onCap: 'escalate' });
        await fleet.claude('Stop');
        const note = '<task-notification> <task-id>b1</task-id> </task-notification>';
        expect(await fleet.claude('UserPromptSubmit', { prompt: note })).toBeNull();
        expect(fleet.view(session), 'no person').toMatchObject({ state: 'working', retry: { count: 1 } });
        const answered = { decision: 'block', reason: expect.stringContaining('stopgate') };
        expect(await fleet.claude('UserPromptSubmit', { prompt: '/stopgate status' })).toEqual(answered);
        expect(await fleet.claude('UserPromptSubmit', { prompt: 'go on' })).toBeNull();
        expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
        for (let count = 0; count < 2; count += 1) await fleet.claude('Stop');
        fleet.resolve(session, 'Use the other key');
        expect(await fleet.claude('UserPromptSubmit', { prompt: 'go on' })).toEqual({
          hookSpecificOutput: {
            hookEventName: 'UserPromptSubmit',
            additionalContext: expect.stringContaining('Use the other key'),
          },
        });
      },
    ),
    holds('Stop: before the end, can block', async () => {
      const fleet = await busyFleet();
      expect(await fleet.claude('Stop')).toEqual(continues());
    }),
    differs(
      'PreToolUse: before a tool, can block',
      'it denies only StructuredOutput, and only while work remains, because that tool ends the session; any other call is logged, as the start of a tool or as a question to a person',
      async () => {
        const fleet = await busyFleet();
        expect(await fleet.claude('PreToolUse')).toBeNull();
        expect(fleet.entries.at(-1)).toMatchObject({ type: 'tool.started' });
        const question = { tool_name: 'AskUserQuestion', tool_input: { questions: [] } };
        expect(await fleet.claude('PreToolUse', question)).toBeNull();
        expect(fleet.entries.at(-1)).toMatchObject({ type: 'input.requested' });
        const refused = { hookEventName: 'PreToolUse', permissionDecision: 'deny' };
        expect(await fleet.claude('PreToolUse.StructuredOutput')).toMatchObject({ hookSpecificOutput: refused });
        await fleet.mark('completed');
        expect(await fleet.claude('PreToolUse.StructuredOutput')).toBeNull();
      },
    ),
    differs(
      'PostToolUse: after a tool, can block',
      'it never blocks, because the tool has run and nothing is rolled back: it counts the tool, and records its files and plan; after StructuredOutput it adds to the context what is incomplete',
      async () => {
        const fleet = await busyFleet();
        const { toolCount } = fleet.view(session);
        const edit = { tool_name: 'Write', tool_input: { file_path: '/workspace/project/a.ts' } };
        expect(await fleet.claude('PostToolUse', edit)).toBeNull();
        expect(fleet.view(session)).toMatchObject({ toolCount: toolCount + 1, filesModified: { count: 1 } });
        await fleet.mark('completed');
        expect(fleet.view(session).plan).toMatchObject([{ title: 'Write the tests', status: 'completed' }]);
        await fleet.mark('pending');
        expect(await fleet.claude('PostToolUse', { tool_name: 'StructuredOutput', tool_input: {} })).toEqual({
          hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: expect.stringContaining('1 of 1') },
        });
      },
    ),
    holds('SubagentStart: cannot block, tracking', async () => {
      const fleet = await busyFleet();
      expect(await fleet.claude('SubagentStart')).toBeNull();
      expect(fleet.view(child)).toMatchObject({ parent: session, labels: { subagent: 'general-purpose' } });
    }),
    differs(
      'SubagentStop: cannot block, captures the transcript',
      'it can block, because Claude Code has come to allow that: a sub-agent is a worker with a plan and a retry count of its own; its last message is kept, and its transcript is not',
      async ({ service }) => {
        const fleet = await busyFleet();
        await fleet.claude('SubagentStart');
        await fleet.claude('PostToolUse.TaskCreate', {
          agent_id: recorded('SubagentStart').agent_id,
          agent_type: 'general-purpose',
          tool_input: { subject: 'Look around' },
          tool_response: { task: { id: '9', subject: 'Look around' } },
        });
        expect(await fleet.claude('SubagentStop')).toEqual({
          decision: 'block',
          reason: expect.stringContaining('Look around'),
        });
        expect(fleet.view(child)).toMatchObject({ state: 'blocked', retry: { count: 1 } });
        const { last_assistant_message: said } = recorded('SubagentStop');
        expect(said).toBeTruthy();
        const parent = await service.worker(null);
        await service.claude(parent.id, 'SubagentStop');
        const [attempt] = await service.entries(
          `worker.${parent.id}-${recorded('SubagentStart').agent_id}.stop.attempted`,
        );
        expect(attempt?.data.output).toBe(said);
        expect(JSON.stringify(attempt?.data)).not.toContain('.jsonl');
        expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
      },
    ),
    differs(
      'PreCompact: cannot block, logging',
      '`stopgate init` does not register this hook, because no decision depends on it; a call of it is logged as a heartbeat',
      async () => {
        const fleet = await busyFleet();
        expect(await initClaude()).not.toHaveProperty('PreCompact');
        expect(await fleet.claude('PreCompact')).toBeNull();
        expect(fleet.entries.at(-1)).toMatchObject({ id: session, type: 'heartbeat.sent' });
      },
    ),
    differs(
      'Notification: cannot block, observability',
      'a notification of a permission request or a question is logged as `input.requested`, because the session then waits for a person; any other as a heartbeat',
      async () => {
        const fleet = await busyFleet();
        expect(await initClaude()).toHaveProperty('Notification');
        const notification = { hook_event_name: 'Notification', message: 'Claude is waiting for your input' };
        expect(await fleet.claude('PreToolUse', notification)).toBeNull();
        expect(fleet.entries.at(-1)).toMatchObject({ id: session, type: 'heartbeat.sent' });
      },
    ),
  ),
  part(
    'Error Handling',
    differs(
      'the validator raises an exception: a warning is logged, the stop is allowed',
      'its cause is `unjudged`, because a broken check is not a verdict: it completes no task. `onError` of the check may block or escalate instead, because some work must not pass unjudged',
      async ({ service }) => {
        const { name } = await service.serveCheck(() => 'Traceback (most recent call last):');
        const worker = await service.worker({ checks: [{ remote: name }] });
        const decision = await worker.stop();
        expect(decision).toMatchObject({
          decision: 'allow',
          cause: 'unjudged',
          reason: `Allowed, though a check could not be judged: check ${name} replied with invalid JSON`,
        });
        expect(decision.verdicts).toContainEqual(expect.objectContaining({ guard: 'checks', verdict: 'error' }));
        expect(service.warnings).toContainEqual(
          expect.objectContaining({ message: 'a check could not be judged', workerId: worker.id }),
        );
        const strict = await service.worker({ checks: [{ remote: name, onError: 'block' }] });
        expect(await strict.stop()).toMatchObject({ decision: 'block', feedback: [{ outcome: 'error' }] });
        const asking = await service.worker({ checks: [{ remote: name, onError: 'escalate' }] });
        expect(await asking.stop()).toMatchObject({ decision: 'allow', action: 'escalate' });
      },
    ),
    holds('the validator returns `complete=True`: the stop is allowed', async ({ service }) => {
      const { name } = await service.serveCheck(() => ({ complete: true, reason: 'fine' }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
    }),
    holds('the validator returns `complete=False`: blocked with the reason', async ({ service }) => {
      const { name } = await service.serveCheck(() => ({ complete: false, reason: 'lint fails' }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'lint fails' });
    }),
    holds('`retry_count >= max_stop_retries`: the stop is forced, and a warning is logged', async ({ service }) => {
      const worker = await service.worker({ ...planned, retries: 2 });
      await worker.publish('plan.updated', planOf('pending'));
      for (const count of [1, 2]) expect(await worker.stop()).toMatchObject({ decision: 'block', retry: { count } });
      expect(await worker.stop()).toMatchObject({ decision: 'allow', action: 'complete', cause: 'capped' });
      expect(service.warnings).toContainEqual(
        expect.objectContaining({ message: 'stop allowed at the cap', workerId: worker.id, cause: 'capped' }),
      );
    }),
    holds('no validator attached: the stop is allowed', () => {
      expect(createVirtualLog({ default: {} }).stop('12:00', 'w')).toMatchObject({ decision: 'allow' });
    }),
  ),
  part(
    'Limitations',
    differs(
      'a single validator per workspace',
      'a policy has a list, because rules come from several people: they run in order, and the first that is not complete decides',
      async ({ service }) => {
        let done = false;
        const first = await service.serveCheck(() => ({ complete: true }));
        const second = await service.serveCheck(() => ({ complete: done, reason: 'lint fails' }));
        const third = await service.serveCheck(() => ({ complete: true }));
        const checks = [first, second, third].map(({ name }) => ({ remote: name }));
        const worker = await service.worker({ checks });
        expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'lint fails' });
        expect([first, second, third].map(({ asked }) => asked.length)).toEqual([1, 1, 0]);
        done = true;
        expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
        expect([first, second, third].map(({ asked }) => asked.length)).toEqual([2, 2, 1]);
      },
    ),
    differs(
      'validators are synchronous',
      'they may take long, because tests do: the attempt stays open until they answer',
      async ({ service }) => {
        const answers: ((reply: object) => void)[] = [];
        const { name, asked } = await service.serveCheck(() => new Promise((answer) => answers.push(answer)));
        const worker = await service.worker({ checks: [{ remote: name }] });
        const decision = worker.stop();
        await expect.poll(() => asked.length).toBe(1);
        expect(await worker.view()).toMatchObject({ state: 'validating', lastDecision: null });
        answers[0]?.({ complete: false, reason: 'thought about it' });
        expect(await decision).toMatchObject({ decision: 'block', reason: 'thought about it' });
      },
    ),
    differs(
      'no access to what the model wrote',
      'a validator is given the last output of the agent (`agentOutput`), because what the agent says, such as a promise or a question, may decide',
      async ({ service }) => {
        const { name, asked } = await service.serveCheck(() => ({ complete: true }));
        const worker = await service.worker({ checks: [{ remote: name }] });
        await worker.stop({ output: 'All tests pass.' });
        expect(asked).toMatchObject([{ agentOutput: 'All tests pass.' }]);
      },
    ),
    holds(
      'a validator only reads the session: its answer is one entry and changes nothing else',
      async ({ service }) => {
        const { name } = await service.serveCheck(() => ({
          complete: true,
          reason: 'fine',
          plan: [],
          toolCount: 0,
          filesModified: [],
        }));
        const worker = await service.worker({ checks: [{ remote: name }, ...planned.checks] });
        await worker.publish('plan.updated', planOf('done', 'pending'));
        await worker.publish('tool.used', { tool: 'Write', files: ['a.ts'] });
        const { plan, toolCount, filesModified, tasks } = await worker.view();
        await worker.stop({ attempt: 'a1' });
        expect(await service.entries(`own.worker.${worker.id}.check.*`)).toMatchObject([
          { subject: expect.stringContaining('check.finished'), data: { attempt: 'a1', check: name, outcome: 'pass' } },
        ]);
        expect(await worker.view()).toMatchObject({ plan, toolCount, filesModified, tasks });
        expect(plan).toHaveLength(2);
      },
    ),
  ),
];
