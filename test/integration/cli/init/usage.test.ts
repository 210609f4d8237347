/** init --usage: Claude Code sends what it uses to the service that its hooks ask. */
import { expect, test } from 'vitest';
import { isGone, place } from './place.ts';

const file = 'home/.claude/settings.json';

test('writes the variables, keeps them in a run without the option, and takes all of them out', async () => {
  const { init, read } = await place();
  const env = async () => (JSON.parse(await read(file)) as { env?: Record<string, string> }).env;
  const usage = {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://127.0.0.1:5555/v1/logs?fleet=red',
  };
  expect((await init('claude', '--yes', '--user', '--usage', '--http', '127.0.0.1:5555', '--fleet', 'red')).code).toBe(
    0,
  );
  expect(await env()).toMatchObject(usage);
  await init('claude', '--yes', '--user', '--http', '127.0.0.1:5555', '--fleet', 'red');
  expect(await env()).toMatchObject(usage);
  await init('claude', '--user', '--remove', '--yes');
  await isGone(read(file));
});

test("an exporter of the user's own stays, and nothing is written", async () => {
  const { init, read, put } = await place();
  const text = '{\n  "env": { "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://collector:4318/v1/logs" }\n}\n';
  await put(file, text);
  const { code, stderr } = await init('claude', '--yes', '--user', '--usage');
  expect({ code, text: await read(file) }).toEqual({ code: 2, text });
  expect(stderr).toContain('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT is set already');
});

test('a token is named, not written; other agents are set up by hand', async () => {
  const { init, read } = await place();
  const { stderr } = await init('claude', '--yes', '--user', '--usage', '--token-env', 'MY_TOKEN', '--form', 'http');
  expect(stderr).toContain('set OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $MY_TOKEN"');
  expect(await read(file)).not.toContain('OTEL_EXPORTER_OTLP_HEADERS');
  const project = await init('claude', '--yes', '--usage');
  expect([project.code, project.stderr]).toEqual([2, expect.stringContaining('add --user')]);
  const refused = await init('codex', '--yes', '--usage');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('docs/agents/usage.md')]);
});
