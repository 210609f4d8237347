/** Codex for `init` and `doctor`: settings, trust and dry turn. Tested with 0.171.0. */
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { type Answer, bad, type CheckContext, ok } from '../doctor/doctor.ts';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { describeSyntax, type HookedFile } from '../doctor/find-hooks.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import { type FakeModel, type ModelRequest, modelText, openFakeModel, sendEvents, sendJson } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { stopEvents, stopSeconds, storedEvents } from '../setup/hook-events.ts';
import { commandForms } from '../setup/line.ts';
import type { Program } from '../setup/local-context.ts';
import { readText } from '../setup/settings-file.ts';
import { type CodexHook, createCodexUsage, listCodexHooks, planConfig, putTrust, trust, trustIn } from './config.ts';
import { hookCommand } from './hook-command.ts';
import { readCodexSwitches } from './switches.ts';

const program: Program = {
  binary: 'codex',
  testedVersion: '0.171.0',
  folder: ({ home, env }) => env.CODEX_HOME || join(home, '.codex'),
};

const hooks: AgentHooks = {
  agent: 'codex',
  hook: hookCommand,
  program,
  forms: commandForms,
  scopes: ['user'],
  file: (_scope, places) => join(program.folder(places), 'hooks.json'),
  events: () => [
    ...storedEvents('SessionStart', 'UserPromptSubmit', 'PostToolUse', 'SubagentStart'),
    // May be held for an operator's answer (`ask`).
    { name: 'PermissionRequest', isStop: false, seconds: stopSeconds },
    // Codex's maximum for these events. It warns in every session about a longer timeout.
    { name: 'SessionEnd', isStop: false, seconds: 3 },
    { name: 'Interrupt', isStop: false, seconds: 3 },
    ...stopEvents('SubagentStop', 'Stop'),
  ],
  grouped: true,
  handler: (event, _line, command) => ({ type: 'command', command: command(), timeout: event.seconds }),
  usage: createCodexUsage(program.folder),
  planConfig,
  trust,
};

export const setup = createHookSetup(hooks);

/** A fake model with the API that Codex calls. */
const openResponsesModel = (): Promise<FakeModel> =>
  openFakeModel({
    isTurn: (path) => /\/responses(\?|$)/.test(path),
    other: () => ({ object: 'list', data: [], models: [] }),
    answerTurn,
  });

const usage = {
  input_tokens: 1,
  output_tokens: 1,
  total_tokens: 2,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

function answerTurn(response: ServerResponse, { model = 'fake', stream }: ModelRequest, count: number): void {
  const content = [{ type: 'output_text', text: modelText, annotations: [] }];
  const item = { type: 'message', id: `msg_${count}`, role: 'assistant', status: 'completed', content };
  const head = { id: `resp_${count}`, object: 'response', created_at: 0, model };
  const done = { ...head, status: 'completed', output: [item], usage };
  if (stream !== true) {
    sendJson(response, 200, done);
    return;
  }
  const events = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done },
  ];
  sendEvents(
    response,
    events.map((event, index) => ({ ...event, sequence_number: index })),
  );
}

const dryTurn: DryTurn = {
  openModel: openResponsesModel,
  async prepare({ home: userHome, project, settings, model, binary, env, write }) {
    const home = join(userHome, '.codex');
    const config = configFor(model);
    write(join(home, 'config.toml'), config);
    write(join(home, 'hooks.json'), settings);
    const extraEnv = { CODEX_HOME: home, FAKE_MODEL_KEY: 'none' };
    // Trust the hooks like `init` does, which tests that too.
    const hooks = await listCodexHooks(binary, project, { ...env, ...extraEnv });
    write(join(home, 'config.toml'), putTrust(config, hooks ?? []));
    return { args: ['exec', '--skip-git-repo-check', '--json', 'Say hello.'], env: extraEnv };
  },
};

const configFor = (model: string): string => `model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${model}/v1"
env_key = "FAKE_MODEL_KEY"
wire_api = "responses"
`;

export const doctor = createHookDoctor(hooks, {
  switches: readCodexSwitches(program.folder),
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: null },
  dryTurn,
  checkSettings(file, all) {
    if (all.every(({ value }) => value.type !== 'http')) return [];
    return [bad(`${file} has a hook of type "http", so Codex ignores the whole file`, 'remove that hook')];
  },
  checkHooked: async (hooked, context) => [checkTrust(hooked, await listHooks(context))],
});

/** Resolves to an empty list if Codex cannot list its hooks. */
async function listHooks({ binary, places }: CheckContext): Promise<readonly CodexHook[]> {
  return binary === null ? [] : ((await listCodexHooks(binary, places.cwd, places.env)) ?? []);
}

/** A hook that changed after it was trusted has another hash, which only Codex can compute. */
function checkTrust({ file, hooks: ours }: HookedFile, listed: readonly CodexHook[]): Answer {
  const config = join(dirname(file), 'config.toml');
  const text = readText(config) ?? '';
  let trusted: ReadonlyMap<string, string>;
  try {
    trusted = trustIn(text);
  } catch (error) {
    return bad(describeSyntax(config, text, error), 'fix it');
  }
  const isStale = (key: string) =>
    listed.some((hook) => hook.key === key && trusted.has(key) && trusted.get(key) !== hook.currentHash);
  const count = [...trusted].filter(([key, hash]) => key.startsWith(`${file}:`) && hash !== '' && !isStale(key)).length;
  if (count >= ours.length) return ok(`its hooks are trusted in ${config}`);
  return bad(
    `${count} of ${ours.length} hooks are trusted in ${config}: Codex silently skips the others`,
    'stopgate init codex, or /hooks in Codex',
  );
}
