/** Seed 003, a deterministic stop hook: a script, not a model, decides when the work is complete. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import type { Decision } from '../../../machines/index.ts';
import { readPage } from '../../support/markdown.ts';
import { createAgentFleet } from '../../unit/agents/agent-fleet.ts';
import { recordingsOf } from '../../unit/agents/recordings/recordings.ts';
import { createClaudeFleet } from '../claude-fleet.ts';
import { initClaude } from '../claude-settings.ts';
import { differs, holds, part, type Seed } from '../rule.ts';
import { findings, policies, startExecutor, valid } from './campaign.ts';
import { commands } from './commands.ts';

/** The policy and the command that docs/recipes.md gives for this seed. */
function readRecipe(): { policies: { executor: object }; commands: Record<string, object> } {
  const { steps } = readPage('docs/recipes.md');
  return parse(
    steps.flatMap((part) => ('text' in part && part.text.includes('executor:') ? [part.text] : []))[0] ?? '',
  );
}

const planned = { checks: [{ plan: {} }], stopWhenComplete: true };
const withDifference = (...parts: readonly string[]) => ({
  hookSpecificOutput: {
    hookEventName: 'PostToolBatch',
    additionalContext: expect.stringMatching(new RegExp(parts.map((part) => part.replace('[', '\\[')).join('.*'), 's')),
  },
});
const stopNotice = { continue: false, stopReason: expect.stringContaining('complete') };
const answerOf = ({ decision, reason, nextPrompt, feedback }: Decision) => ({ decision, reason, nextPrompt, feedback });
/** Returns the JSON in the prompt with which the agent continues. */
const differenceIn = ({ nextPrompt }: Decision) => JSON.parse(nextPrompt?.slice(nextPrompt.indexOf('{')) ?? '');

const summary = part(
  'TL;DR',
  holds('the Stop hook is a shell script, and no model', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.script, {});
    const blocked = await executor.stop();
    expect(blocked).toMatchObject({ decision: 'block', feedback: [{ check: 'nous-execute-stop', outcome: 'fail' }] });
    await executor.write({ 'nous-execute-stop': 'exit 0' });
    expect(await executor.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
  }),
  holds(
    'it runs `nous validate --execution`, and only when that passes is the work complete',
    async ({ service, folder }) => {
      const executor = await startExecutor(service, folder, policies.validate, {
        'findings.json': { ...findings, claim: 7 },
        'principle_updates.json': {},
      });
      expect(await executor.stop()).toMatchObject({ decision: 'block', feedback: [{ check: 'validate' }] });
      await executor.write(valid);
      expect(await executor.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
    },
  ),
  differs(
    'it runs after each burst of tools, and signals "stop, work complete"',
    'if the policy has `stopWhenComplete`, because the checks then run far more often: at the end of each batch of tools, or at most every 2 s if the agent does not report batches; only Claude Code and Gemini CLI can be answered there. [A recipe](recipes.md#stop-as-soon-as-the-work-is-valid) has it ready',
    async ({ service, folder }) => {
      const { policies, commands: given } = readRecipe();
      expect(given.validate).toMatchObject({ feedback: commands.validate?.feedback, cwd: commands.validate?.cwd });
      const executor = await startExecutor(service, folder, policies.executor, { 'findings.json': {} });
      const burst = () => service.claude(executor.id, 'PostToolBatch', { cwd: executor.folder });
      expect(await burst(), 'the difference goes with the burst').toEqual(withDifference('"missing": [', '"claim"'));
      expect(await burst(), 'once').toBeNull();
      for (let count = 1; count <= 5; count += 1) {
        const blocked = await executor.stop();
        expect(blocked).toMatchObject({ decision: 'block', retry: { count, max: null } });
        expect(differenceIn(blocked).missing).toEqual(['claim', 'confidence', 'evidence']);
      }
      await executor.write(valid);
      expect(
        await service.claude(executor.id, 'PostToolUse', { cwd: executor.folder }),
        'the batch continues',
      ).toBeNull();
      expect(await service.claude(executor.id, 'PostToolBatch', { cwd: executor.folder })).toEqual(stopNotice);
      expect(await executor.view()).toMatchObject({ state: 'stopped', lastDecision: { cause: 'complete' } });

      const gemini = createAgentFleet(planned);
      const afterTool = (status: string) =>
        gemini.call('gemini', {
          ...recordingsOf('gemini').recorded('AfterTool.write_todos'),
          tool_input: { todos: [{ description: 'a', status }] },
        });
      expect(await afterTool('pending')).toBeNull();
      expect(await afterTool('completed'), 'within 2 s it is not asked again').toBeNull();
      gemini.wait(2_000);
      expect(await afterTool('completed')).toEqual(stopNotice);
    },
  ),
);

const reasons = part(
  'Why this matters',
  holds('the agent does not decide on its own that it is done', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.validate, {});
    await executor.publish('tool.used', { tool: 'Write', files: ['findings.json'] });
    expect(await executor.stop({ output: 'I have written findings.json, I am done' })).toMatchObject({
      decision: 'block',
      feedback: [{ details: { file: 'findings.json', missing: true } }],
    });
  }),
  holds('it does not continue to write once the work is complete', async () => {
    const fleet = createClaudeFleet(planned);
    await fleet.mark('completed');
    await fleet.claude('PostToolUse');
    expect(await fleet.claude('PostToolBatch')).toEqual(stopNotice);
  }),
  holds('it does not stop too early', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.validate, { 'findings.json': findings });
    expect(await executor.stop()).toMatchObject({
      decision: 'block',
      reason: 'Missing required files: principle_updates.json',
    });
  }),
  holds('the same files always give the same answer', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.validate, { 'findings.json': { claim: 'a' } });
    const [first, ...others] = [await executor.probe(), await executor.probe(), await executor.stop()].map(answerOf);
    expect(first).toMatchObject({ decision: 'block', feedback: [{ check: 'validate' }] });
    expect(others).toEqual([first, first]);
  }),
  differs(
    'exit 0 is "continue", any other code with a reason is "stop"',
    'the reverse, because its own script says so: 0 passes, and the agent may stop; any other code fails, and the agent gets the output. A script that did not run (126, 127, a signal) is an error of the check, and `onError` decides',
    async ({ service, folder }) => {
      const runs = async (script: string, onError = 'allow') => {
        const policy = { checks: [{ command: 'nous-execute-stop', onError }] };
        return (await startExecutor(service, folder, policy, { 'nous-execute-stop': script })).stop();
      };
      expect(await runs('exit 0')).toMatchObject({ decision: 'allow', cause: 'complete' });
      for (const code of [1, 2, 3]) {
        const failed = await runs(`echo two tests fail; exit ${code}`);
        expect(failed).toMatchObject({ decision: 'block', reason: `Command nous-execute-stop failed (exit ${code})` });
        expect(failed.nextPrompt).toContain('two tests fail');
      }
      for (const script of ['exit 126', 'exit 127', 'kill -9 $$']) {
        const allowed = await runs(script);
        expect(allowed).toMatchObject({ decision: 'allow' });
        expect(allowed.verdicts).toContainEqual(expect.objectContaining({ guard: 'checks', verdict: 'error' }));
        expect(await runs(script, 'block')).toMatchObject({ decision: 'block', feedback: [{ outcome: 'error' }] });
      }
    },
  ),
);

const approach = part(
  'Proposed approach',
  holds(
    'the script runs `nous validate --dir … --execution` and looks for `principle_updates.json`: exit 0 if both pass',
    async ({ service, folder }) => {
      const stopWith = async (files: object) =>
        (await startExecutor(service, folder, policies.script, { ...files })).stop();
      expect(await stopWith(valid)).toMatchObject({ decision: 'allow', cause: 'complete' });
      const noUpdates = await stopWith({ 'findings.json': findings });
      expect(noUpdates.nextPrompt).toContain('principle_updates.json is missing');
      const noFindings = await stopWith({ 'principle_updates.json': {} });
      expect(noFindings.nextPrompt).toContain('{"file":"findings.json","missing":true}');
    },
  ),
  differs(
    'it is registered as a Stop hook in the `.claude/settings.json` of the campaign',
    '`stopgate init claude --policy executor` writes the hook there, and the policy names the script, because no command comes over the wire',
    async () => {
      const hooks = await initClaude('--policy', 'executor');
      expect(hooks.Stop).toEqual([
        {
          hooks: [
            expect.objectContaining({ command: expect.stringMatching(/\/hooks\/claude\?event=Stop&policy=executor'/) }),
          ],
        },
      ]);
    },
  ),
  holds('when it signals "stop", the agent ends cleanly', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.script, valid);
    expect(await executor.stop()).toMatchObject({
      decision: 'allow',
      action: 'complete',
      state: 'stopped',
      nextPrompt: null,
      feedback: [],
    });
    const fleet = createClaudeFleet(planned);
    await fleet.mark('completed');
    expect(await fleet.claude('Stop')).toBeNull();
  }),
  holds(
    'when it does not, the agent gets the difference as a structured message and continues',
    async ({ service, folder }) => {
      const executor = await startExecutor(service, folder, policies.validate, {
        'findings.json': { claim: 7, evidence: [] },
      });
      const blocked = await executor.stop();
      const difference = { missing: ['confidence'], wrong: [{ path: 'claim', expected: 'string', got: 'number' }] };
      expect(blocked).toMatchObject({
        decision: 'block',
        action: 'continue',
        feedback: [{ check: 'validate', outcome: 'fail', details: difference }],
      });
      const prompt = blocked.nextPrompt ?? '';
      expect(JSON.parse(prompt.slice(prompt.indexOf('{')))).toEqual(difference);
    },
  ),
);

const criteria = part(
  'Acceptance criteria',
  holds(
    'on the first pass with a valid `findings.json` and `principle_updates.json` the executor ends within one turn',
    async ({ service, folder }) => {
      const executor = await startExecutor(service, folder, policies.validate, {});
      const turns: object[] = [
        { 'findings.json': { claim: 'a' } },
        { 'findings.json': findings },
        { 'principle_updates.json': {} },
      ];
      const decisions: string[] = [];
      for (const files of turns) {
        await executor.write({ ...files });
        decisions.push((await executor.stop()).decision);
      }
      expect(decisions).toEqual(['block', 'block', 'allow']);
    },
  ),
  differs(
    'when validation fails after a burst of tools, the next turn has the difference',
    'once until it changes, because the agent has it already; only what a check of the work itself has found, because an agent knows of its open plan. It counts as no retry, because the agent did not ask to stop',
    async ({ service, folder }) => {
      const policy = { ...policies.validate, stopWhenComplete: true, retries: 1 };
      const executor = await startExecutor(service, folder, policy, { 'findings.json': {} });
      const burst = () => service.claude(executor.id, 'PostToolBatch', { cwd: executor.folder });
      expect(await burst()).toEqual(withDifference('"claim"', '"evidence"'));
      for (let count = 0; count < 3; count += 1) expect(await burst()).toBeNull();
      await executor.write({ 'findings.json': { ...findings, confidence: undefined } });
      expect(await burst()).toEqual(withDifference('"missing": [', '"confidence"'));
      await executor.write({ 'findings.json': findings });
      expect(await burst()).toEqual(withDifference('Missing required files: principle_updates.json'));
      expect(await executor.view()).toMatchObject({ retry: { count: 0 }, lastDecision: null });

      const open = createClaudeFleet(planned);
      await open.mark('pending');
      expect(await open.claude('PostToolBatch')).toBeNull();
    },
  ),
  holds('when validation fails, the next turn has the difference from the schema', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.validate, { 'findings.json': {} });
    expect(differenceIn(await executor.stop()).missing).toEqual(['claim', 'confidence', 'evidence']);
    await executor.write({ 'findings.json': { ...findings, confidence: undefined } });
    expect(differenceIn(await executor.stop()), 'nothing of the turn before').toEqual({
      missing: ['confidence'],
      wrong: [],
    });
  }),
  holds('and it is not run again from scratch', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.validate, {
      'findings.json': { claim: 'a' },
      'notes.md': 'so far',
    });
    const filesOf = async () =>
      Promise.all(
        (await readdir(executor.folder)).map(async (file) => {
          const path = join(executor.folder, file);
          return [file, (await stat(path)).mtimeMs, await readFile(path, 'utf8')];
        }),
      );
    await executor.publish('plan.updated', { steps: [{ title: 'Write findings', status: 'done' }] });
    await executor.publish('tool.used', { tool: 'Write', files: ['findings.json'] });
    const [files, { plan, toolCount, filesModified }] = [await filesOf(), await executor.view()];
    expect(await executor.stop()).toMatchObject({ decision: 'block' });
    expect(await filesOf()).toEqual(files);
    expect(await executor.view()).toMatchObject({ state: 'blocked', plan, toolCount, filesModified });
    await executor.write(valid);
    expect(await executor.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
  }),
);

const notes = part(
  'Notes',
  holds('the check is deterministic, pass or fail, whereas `/goal` asks a model', async ({ service, folder }) => {
    const executor = await startExecutor(service, folder, policies.script, valid);
    const other = await startExecutor(service, folder, policies.script, valid);
    const [one, two] = [await executor.stop({ output: 'not sure' }), await other.stop({ output: 'surely not' })];
    expect(one).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(answerOf(two)).toEqual(answerOf(one));
  }),
);

export const seed003: Seed = {
  number: '003',
  title: 'A deterministic Stop hook',
  parts: [summary, reasons, approach, criteria, notes],
};
