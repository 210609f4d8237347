/**
 * `stopgate init --usage` lets an agent send its usage to the service of its hooks. Each agent has other settings for
 * it.
 */
import { expect, test } from 'vitest';
import { isGone, place } from './place.ts';

const claudeFile = 'home/.claude/settings.json';
const service = ['--http', '127.0.0.1:5555'] as const;

test('Claude Code: writes the variables and no hook, keeps them in a run without the option, and takes all of them out', async () => {
  const { init, read } = await place();
  const env = async () => (JSON.parse(await read(claudeFile)) as { env?: Record<string, string> }).env;
  const usage = {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://127.0.0.1:5555/v1/logs?fleet=red',
  };
  const { code, stderr } = await init('claude', '--yes', '--user', '--usage', ...service, '--fleet', 'red');
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('has no hooks yet') });
  expect(await env()).toMatchObject(usage);
  expect(await read(claudeFile)).not.toContain('"hooks"');
  await init('claude', '--yes', '--user', ...service, '--fleet', 'red');
  expect(await env()).toMatchObject(usage);
  await init('claude', '--user', '--remove', '--yes');
  await isGone(read(claudeFile));
});

test("Claude Code: an exporter of the user's own stays, and nothing is written", async () => {
  const { init, read, put } = await place();
  const text = '{\n  "env": { "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://collector:4318/v1/logs" }\n}\n';
  await put(claudeFile, text);
  const { code, stderr } = await init('claude', '--yes', '--user', '--usage');
  expect({ code, text: await read(claudeFile) }).toEqual({ code: 2, text });
  expect(stderr).toContain('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT is already set');
});

const telemetryFiles = [
  ['gemini', '.gemini/settings.json', []],
  ['gemini', 'home/.gemini/settings.json', ['--user']],
  ['qwen', '.qwen/settings.json', []],
  ['qwen', 'home/.qwen/settings.json', ['--user']],
] as const;

test.each(telemetryFiles)(
  '%s: writes %s, follows the hooks to another service, and --remove restores it',
  async (agent, file, scope) => {
    const before = '{\n  // mine\n  "theme": "dark"\n}\n';
    const { init, read, put } = await place();
    await put(file, before);
    const run = (...more: string[]) => init(agent, '--yes', ...scope, ...more);
    const telemetry = async () =>
      (JSON.parse((await read(file)).replace('// mine', '')) as { telemetry?: object }).telemetry;
    const shown = await init(agent, '--dry-run', ...scope, '--usage', ...service);
    expect(shown.stdout).toContain('+   "telemetry"');
    expect(await read(file)).toBe(before);
    expect((await run('--usage', ...service)).code).toBe(0);
    const written = { enabled: true, otlpEndpoint: 'http://127.0.0.1:5555', otlpProtocol: 'http', logPrompts: false };
    expect(await telemetry()).toEqual(written);
    expect((await run('--usage', ...service)).stderr).toContain('already up to date');
    await run(...service);
    await run('--http', '127.0.0.1:6666', '--fleet', 'red');
    expect(await telemetry()).toEqual({ ...written, otlpEndpoint: 'http://127.0.0.1:6666/?fleet=red' });
    expect((await run('--remove')).code).toBe(0);
    expect(await read(file)).toBe(before);
  },
);

test.each([
  ['an empty object', '{}'],
  ['no file', null],
])('gemini: --remove after --usage restores %s', async (_what, before) => {
  const { init, read, put } = await place();
  if (before !== null) await put('.gemini/settings.json', before);
  await init('gemini', '--yes', '--usage', ...service);
  expect(await read('.gemini/settings.json')).toContain('otlpEndpoint');
  await init('gemini', '--yes', '--remove', ...service);
  if (before === null) await isGone(read('.gemini/settings.json'));
  else expect(await read('.gemini/settings.json')).toBe(before);
});

test.each([
  ['another form', { enabled: false }],
  [
    'our form, for a collector',
    { enabled: true, otlpEndpoint: 'http://collector:4318', otlpProtocol: 'http', logPrompts: false },
  ],
])("telemetry of the user's own stays: %s", async (_what, telemetry) => {
  const { init, read, put } = await place();
  const text = `${JSON.stringify({ telemetry })}\n`;
  await put('.qwen/settings.json', text);
  const { code, stderr } = await init('qwen', '--yes', '--usage');
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('"telemetry" is already set') });
  await init('qwen', '--yes');
  await init('qwen', '--yes', '--remove');
  expect(await read('.qwen/settings.json')).toBe(text);
});

const codexFile = 'home/.codex/config.toml';

test.each(['model = "x"\n', 'model = "x"', '[a]\nb = 1 # c\n\n', null])(
  'Codex: writes a table to config.toml, and --remove restores %j',
  async (before) => {
    const { init, read, put } = await place();
    if (before !== null) await put(codexFile, before);
    const { code, stdout } = await init('codex', '--yes', '--diff', '--usage', ...service, '--fleet', 'red');
    expect(code).toBe(0);
    expect(stdout).toContain('+ [otel]');
    const exporter =
      '[otel]\nexporter = { otlp-http = { endpoint = "http://127.0.0.1:5555/v1/logs?fleet=red", protocol = "json" } }\n';
    const text = await read(codexFile);
    expect(text.startsWith(before ?? '')).toBe(true);
    expect(text).toContain(exporter);
    expect((await init('codex', '--yes', '--diff', '--usage', ...service, '--fleet', 'red')).stderr).toContain(
      'already up to date',
    );
    await init('codex', '--yes', '--http', '127.0.0.1:6666');
    expect(await read(codexFile)).toContain('"http://127.0.0.1:6666/v1/logs"');
    await init('codex', '--yes', '--remove');
    if (before === null) await isGone(read(codexFile));
    else expect(await read(codexFile)).toBe(before);
  },
);

test("Codex: an exporter of the user's own stays, and nothing is written", async () => {
  const { init, read, put } = await place();
  const text = '[otel]\nenvironment = "dev"\n';
  await put(codexFile, text);
  const { code, stderr } = await init('codex', '--yes', '--usage');
  expect({ code, text: await read(codexFile) }).toEqual({ code: 2, text });
  expect(stderr).toContain('config.toml:1:');
  await isGone(read('home/.codex/hooks.json'));
});

test('Copilot CLI: prints environment variables, because no settings file can set them', async () => {
  const { init } = await place();
  const { code, stderr } = await init('copilot', '--yes', '--usage', ...service, '--fleet', 'red');
  expect(code).toBe(0);
  expect(stderr).toContain(
    "export COPILOT_OTEL_ENABLED=true OTEL_EXPORTER_OTLP_TRACES_ENDPOINT='http://127.0.0.1:5555/v1/traces?fleet=red'",
  );
  const { stdout } = await init('copilot', '--yes', '--usage', ...service, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    environment: {
      COPILOT_OTEL_ENABLED: 'true',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:5555/v1/traces',
    },
  });
});

test('a token is named, not written; notes say if an agent reads it only from its settings, or cannot send it', async () => {
  const { init, read } = await place();
  const { stderr } = await init('claude', '--yes', '--user', '--usage', '--token-env', 'MY_TOKEN');
  expect(stderr).toContain('set OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $MY_TOKEN"');
  expect(await read(claudeFile)).not.toContain('OTEL_EXPORTER_OTLP_HEADERS');
  const project = await init('claude', '--yes', '--usage');
  expect([project.code, project.stderr]).toEqual([2, expect.stringContaining('add --user')]);
  const refused = await init('cursor', '--yes', '--usage');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('docs/agents/usage.md')]);
});

test('beside hooks of the project, usage in the own settings adds no second set of hooks', async () => {
  const { init, read, cwd } = await place();
  await init('claude', '--yes', ...service);
  const { code, stderr } = await init('claude', '--yes', '--user', '--usage', ...service);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('no hooks yet') });
  expect(JSON.parse(await read(claudeFile))).not.toHaveProperty('hooks');
  const second = await init('claude', '--yes', '--user', ...service);
  expect(second.code).toBe(2);
  expect(second.stderr).toContain(`already has these hooks in ${cwd}/.claude/settings.json and would run both`);
  expect(second.stderr).toContain('stopgate init claude --project --remove');
  expect(JSON.parse(await read(claudeFile))).not.toHaveProperty('hooks');
});

test('an option about hooks has no effect beside --usage, so it is refused', async () => {
  const { init } = await place();
  const { code, stderr } = await init('claude', '--yes', '--user', '--usage', '--policy', 'strict');
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--policy has no effect') });
});

test("hooks in the user's own settings name their scope", async () => {
  const { init, read } = await place();
  await init('claude', '--yes', '--user', '--form', 'http');
  expect(await read(claudeFile)).toContain('/hooks/claude?scope=user"');
  await init('claude', '--yes', '--user', '--form', 'command');
  expect(await read(claudeFile)).toContain(' --scope user');
});
