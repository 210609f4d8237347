/**
 * `stopgate doctor` finds budgets in tokens or dollars that do not work because the agent does not report its usage.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDoctorFolders } from '../../integration/agents/doctor-place.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

const withBudget = (budget: object) => JSON.stringify({ policies: { default: { budget } }, budget: { usd: 9 } });
const never = 'the budget of policy default and the budget of the day never end its sessions';

let at: Deployment;
beforeAll(async () => {
  at = await deploy();
});
afterAll(() => at.close());
const http = () => at.http.replace('http://', '');

/** A connected agent, and the doctor's finding about its usage. */
async function connected(agent: string, config: string) {
  const place = await makeDoctorFolders({ 'project/stopgate.yaml': config });
  const scope = agent === 'codex' ? [] : ['--user'];
  const init = (...more: string[]) => place.run(['init', agent, '--yes', ...scope, '--http', http(), ...more]);
  await init();
  return {
    init,
    place,
    async usage(env: Record<string, string> = {}) {
      const { findings } = await place.doctor([agent, '--quick', '--http', http()], env);
      return findings.find(({ text }) => /its usage|not dollars/.test(text));
    },
  };
}

test.each(['claude', 'codex', 'gemini', 'qwen'])(
  '%s: shows how to report usage, and then reports it',
  async (agent) => {
    const { usage, init } = await connected(agent, withBudget({ tokens: 5, usd: 1 }));
    const before = await usage();
    expect(before).toMatchObject({ state: 'bad', text: `it does not report its usage, so ${never}` });
    expect(before?.fix).toBe(`npx stopgate init ${agent} --user --usage`);
    await init('--usage', ...(agent === 'codex' ? ['--user'] : []));
    const after = await usage();
    if (agent === 'claude') expect(after).toMatchObject({ state: 'ok', text: expect.stringContaining(at.http) });
    // The day has a limit in dollars alone.
    else
      expect(after?.text).toBe('it reports tokens but not dollars, so the budget of the day never ends its sessions');
  },
);

test('Copilot CLI: its environment variables count', async () => {
  const { usage } = await connected('copilot', JSON.stringify({ budget: { tokens: 9 } }));
  const before = await usage();
  expect(before?.fix).toBe(
    `start it with COPILOT_OTEL_ENABLED=true OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${at.http}/v1/traces`,
  );
  const env = { COPILOT_OTEL_ENABLED: 'true', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${at.http}/v1/traces` };
  expect(await usage(env)).toMatchObject({ state: 'ok' });
});

test('reports an agent that sends usage elsewhere, and agents that cannot report it', async () => {
  const { usage, place } = await connected('gemini', withBudget({ tokens: 5 }));
  const telemetry = { enabled: true, otlpEndpoint: 'http://collector:4318', otlpProtocol: 'http' };
  await place.folder.write('project/.gemini/settings.json', JSON.stringify({ telemetry }));
  expect((await usage())?.text).toBe(
    `it reports its usage to http://collector:4318 instead of ${at.http}, so ${never}`,
  );
  for (const agent of ['cursor', 'opencode'])
    expect(await (await connected(agent, withBudget({ tokens: 5 }))).usage()).toMatchObject({
      state: 'bad',
      text: expect.stringContaining(never),
    });
});

test('without such a budget, nothing is missing', async () => {
  for (const config of ['policies: {}\n', 'policies: { default: { budget: { turns: 4, time: 1h } } }\n'])
    expect(await (await connected('gemini', config)).usage()).toBe(undefined);
});
