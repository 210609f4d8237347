/** Gemini CLI for `init` and `doctor`: settings and dry turn. Tested with 0.61.0. */
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { bad } from '../doctor/doctor.ts';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { initCommand } from '../doctor/find-hooks.ts';
import { createHookDoctor, hookTarget } from '../doctor/hook-doctor.ts';
import { type FakeModel, type ModelRequest, modelText, openFakeModel, sendEvents, sendJson } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { checkedEvents, stopEvents, storedEvents } from '../setup/hook-events.ts';
import { commandForms } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/local-context.ts';
import { telemetryUsage } from '../setup/usage.ts';
import { hookCommand } from './hook-command.ts';
import { readGeminiSwitches } from './switches.ts';

const agent = 'gemini';

const program: Program = {
  binary: 'gemini',
  testedVersion: '0.61.0',
  folder: ({ home }) => join(home, '.gemini'),
};

const file = fileIn(['.gemini', 'settings.json'], program.folder, ['settings.json']);

const hooks: AgentHooks = {
  agent,
  hook: hookCommand,
  program,
  forms: commandForms,
  scopes: ['project', 'user'],
  file,
  events: () => [
    ...storedEvents('SessionStart', 'BeforeAgent'),
    ...checkedEvents('AfterTool'),
    ...storedEvents('Notification', 'SessionEnd'),
    ...stopEvents('AfterAgent'),
  ],
  grouped: true,
  handler: (event, _line, command) => ({
    type: 'command',
    name: 'stopgate',
    command: withGuard(command()),
    timeout: event.seconds * 1_000,
  }),
  usage: telemetryUsage({ agent, prefix: 'GEMINI', file }),
};

export const setup = createHookSetup(hooks);

/** A hook that is missing or crashes blocks Gemini forever, so the command always ends with exit code 0. */
const withGuard = (command: string): string => (command.endsWith('|| exit 0') ? command : `${command} || exit 0`);

/** A fake model with the API that Gemini CLI calls. */
const openGenerateContentModel = (): Promise<FakeModel> =>
  openFakeModel({ isTurn: (path) => /:(?:stream)?generateContent/i.test(path), other: () => ({}), answerTurn });

function answerTurn(response: ServerResponse, _request: ModelRequest, _count: number, path: string): void {
  const answer = {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: modelText }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'fake',
  };
  if (path.includes('stream')) sendEvents(response, [answer]);
  else sendJson(response, 200, answer);
}

/** Use an API key, and pin a model so that Gemini skips model routing. */
const baseSettings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
  model: { name: 'gemini-2.5-flash' },
};

const dryTurn: DryTurn = {
  openModel: openGenerateContentModel,
  async prepare({ home, settings, model, write }) {
    write(
      join(home, '.gemini', 'settings.json'),
      JSON.stringify({ ...baseSettings, ...(JSON.parse(settings) as object) }),
    );
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'none', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    };
  },
};

export const doctor = createHookDoctor(hooks, {
  switches: readGeminiSwitches(program.folder),
  // Gemini's timeouts are in milliseconds.
  limits: { stopEvent: 'AfterAgent', checkedEvent: 'AfterTool', timeoutUnitMs: 1, blockCap: null },
  dryTurn,
  async checkHooked(hooked) {
    const { file, hooks: ours } = hooked;
    if (ours.every((hook) => /\|\| *(?:exit [01]|true) *$/.test(hookTarget(hook)))) return [];
    const text = `${file}: a command does not end in "|| exit 0": if it crashes, Gemini never stops`;
    return [bad(text, initCommand('gemini', hooked))];
  },
});
