/**
 * Seed 003, a deterministic stop: a campaign's executor writes `findings.json` and `principle_updates.json`, and may
 * stop when `nous validate --execution` passes and the second file is there. Played whole, with the shipped service,
 * real commands and real files: as one policy of two checks, and as the seed's own shell script.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import { type Deployment, deploy } from '../support/deployment.ts';

const nous = fileURLToPath(new URL('nous.mjs', import.meta.url));

/** The seed's script: exit 0 if both pass. `[` alone would exit with 1 too, and say nothing. */
const script = `#!/bin/sh
"$NODE" "$NOUS" validate --dir . --execution || exit 1
[ -f principle_updates.json ] || { echo principle_updates.json is missing; exit 1; }
`;

const config = JSON.stringify({
  policies: {
    executor: { retries: null, checks: [{ command: 'validate' }, { files: ['principle_updates.json'] }] },
    script: { checks: [{ command: 'nous-execute-stop' }] },
  },
  commands: {
    validate: { run: [process.execPath, nous, 'validate', '--dir', '.', '--execution'], feedback: 'json' },
    'nous-execute-stop': {
      run: ['sh', 'nous-execute-stop'],
      env: { NODE: process.execPath, NOUS: nous },
    },
  },
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

/** A worker in a folder of its own that has these files. */
async function begin(worker: string, policy: string, files: Record<string, unknown>) {
  const write = (name: string, content: unknown) =>
    at.folder.write(`${worker}/${name}`, typeof content === 'string' ? content : JSON.stringify(content));
  for (const [name, content] of Object.entries(files)) await write(name, content);
  await at.client.publish(`worker.${worker}.worker.registered`, { policy, cwd: join(at.folder.path, worker) });
  return {
    write,
    stop: async (): Promise<Decision> => (await at.client.ask(`decide.${worker}`, {}, 20_000)).body,
    verify: () => at.client.ask(`verify.${worker}`, {}, 20_000),
    probe: async (): Promise<Decision> => (await at.client.ask(`probe.${worker}`, {}, 20_000)).body,
  };
}

const valid = { claim: 'water boils', confidence: 0.9, evidence: ['kettle'] };
const noted = { 'notes.md': 'so far' };

describe('the executor of a campaign', () => {
  test('is sent on with the difference, then allowed in the first turn in which both files are right', async () => {
    const executor = await begin('executor', 'executor', { ...noted, 'findings.json': { claim: 7, evidence: [] } });

    // It thinks it is done. The next turn gets what differs, as data and in words, and not the task anew.
    const first = await executor.stop();
    const difference = { missing: ['confidence'], wrong: [{ path: 'claim', expected: 'string', got: 'number' }] };
    expect(first).toMatchObject({
      decision: 'block',
      cause: 'incomplete',
      reason: 'Command validate failed (exit 1)',
      feedback: [{ check: 'validate', outcome: 'fail', details: difference }],
      retry: { count: 1, max: null },
    });
    expect(first.nextPrompt).toMatch(/^Not done yet: .* Finish what remains, then stop again\./);
    expect(JSON.parse(first.nextPrompt?.slice(first.nextPrompt.indexOf('{')) ?? '')).toEqual(difference);

    // Half of it mended: the difference is smaller, nothing of before is in it.
    await executor.write('findings.json', { ...valid, confidence: undefined });
    const second = await executor.stop();
    expect(second.feedback).toMatchObject([{ details: { missing: ['confidence'], wrong: [] } }]);

    // Valid findings alone do not do: the second file is asked for, in its own words.
    await executor.write('findings.json', valid);
    expect(await executor.stop()).toMatchObject({
      decision: 'block',
      reason: 'Missing required files: principle_updates.json',
    });
    expect(await executor.verify()).toMatchObject({ code: '409', body: { error: { code: 'INCOMPLETE' } } });

    // Both pass: the very next look says complete, and so does the stop. One turn.
    await executor.write('principle_updates.json', {});
    expect(await executor.probe()).toMatchObject({ decision: 'allow', cause: 'complete', dryRun: true });
    expect((await executor.verify()).code).toBe('');
    expect(await executor.stop()).toMatchObject({
      decision: 'allow',
      action: 'complete',
      cause: 'complete',
      nextPrompt: null,
      feedback: [],
      state: 'stopped',
    });
  });

  test('goes on from the files that it has: a block touches nothing', async () => {
    const executor = await begin('careful', 'executor', { ...noted, 'findings.json': { claim: 'a' } });
    await executor.stop();
    await executor.write('findings.json', valid);
    await executor.write('principle_updates.json', {});
    expect(await executor.stop()).toMatchObject({ decision: 'allow', retry: { count: 1 } });
  });

  test('gets the same answer to the same files, however often it asks: no model is asked', async () => {
    const executor = await begin('same', 'executor', { 'findings.json': { claim: 'a' } });
    const said = ({ reason, nextPrompt, feedback }: Decision) => ({ reason, nextPrompt, feedback });
    const [first, ...rest] = [await executor.probe(), await executor.probe(), await executor.stop()].map(said);
    for (const again of rest) expect(again).toEqual(first);
  });

  test('that says it is done is not believed: the files decide', async () => {
    const executor = await begin('early', 'executor', noted);
    await at.client.publish('worker.early.tool.used', { tool: 'Write', files: ['findings.json'] });
    expect(
      (await at.client.ask('decide.early', { output: 'I have written findings.json, I am done' })).body,
    ).toMatchObject({ decision: 'block', feedback: [{ details: { file: 'findings.json', missing: true } }] });
    expect(await executor.probe()).toMatchObject({ decision: 'block' });
  });
});

describe('the shell script alone', () => {
  const begun = async (worker: string, files: Record<string, unknown>) => {
    const executor = await begin(worker, 'script', files);
    await writeFile(join(at.folder.path, worker, 'nous-execute-stop'), script);
    return executor;
  };

  test('exit 0, both pass: the stop is allowed', async () => {
    const executor = await begun('sh0', { 'findings.json': valid, 'principle_updates.json': {} });
    expect(await executor.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('exit 1: blocked, and what it printed is the reason that the agent is given', async () => {
    const executor = await begun('sh1', { 'findings.json': valid });
    const blocked = await executor.stop();
    expect(blocked).toMatchObject({ decision: 'block', reason: 'Command nous-execute-stop failed (exit 1)' });
    expect(blocked.nextPrompt).toContain('principle_updates.json is missing');
    const invalid = await begun('sh2', { 'findings.json': {}, 'principle_updates.json': {} });
    expect((await invalid.stop()).nextPrompt).toContain('"missing":["claim","confidence","evidence"]');
  });

  test('another exit code is no answer: the check is in error, not failed', async () => {
    const executor = await begin('sh3', 'script', noted); // the script is not there: sh ends with 2 or 127
    const { decision, verdicts } = await executor.stop();
    expect(decision).toBe('allow');
    expect(verdicts.find(({ guard }) => guard === 'checks')).toMatchObject({
      verdict: 'error',
      detail: expect.stringContaining('which is neither pass (0) nor fail (1)'),
    });
  });
});
