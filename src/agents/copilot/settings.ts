/** Copilot CLI for `init` and `doctor`: settings and dry turn. Tested with 1.0.102. */
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { marginSeconds, stopEvents, storedEvents } from '../setup/hook-events.ts';
import { commandForms } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/local-context.ts';
import { receiverFor, type UsageSetup } from '../setup/usage.ts';
import { hookCommand } from './hook-command.ts';
import { readCopilotSwitches } from './switches.ts';

const program: Program = {
  binary: 'copilot',
  testedVersion: '1.0.102',
  folder: ({ home }) => join(home, '.copilot'),
};

/** Copilot CLI reads these only from its environment. */
const usage: UsageSetup = {
  scopes: ['project', 'user'],
  settings: null,
  environment: (line) => ({
    COPILOT_OTEL_ENABLED: 'true',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiverFor(line, '/v1/traces'),
  }),
  target({ env }) {
    const isOn = env.COPILOT_OTEL_ENABLED === 'true' || Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT);
    return (isOn && (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT)) || null;
  },
  inDollars: false,
};

const hooks: AgentHooks = {
  agent: 'copilot',
  hook: hookCommand,
  program,
  forms: commandForms,
  scopes: ['project', 'user'],
  file: fileIn(['.github', 'hooks', 'stopgate.json'], program.folder, ['hooks', 'stopgate.json']),
  // With camelCase names a sub-agent's calls are known to name the sub-agent. With PascalCase names they are not.
  events: () => [
    ...storedEvents(
      'sessionStart',
      'userPromptSubmitted',
      'postToolUse',
      'notification',
      'subagentStart',
      'sessionEnd',
    ),
    ...stopEvents('agentStop', 'subagentStop'),
  ],
  grouped: false,
  head: { version: 1 },
  handler({ name, isStop, seconds }, _line, command) {
    const timeout = isStop ? ` --timeout ${seconds - marginSeconds}s` : '';
    return { type: 'command', bash: command(`--event ${name}${timeout}`), timeoutSec: seconds };
  },
  usage,
};

export const setup = createHookSetup(hooks);

const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ home, settings, model, write }) {
    write(join(home, '.copilot', 'hooks', 'stopgate.json'), settings);
    return {
      args: ['-p', 'Say hello.', '--no-color'],
      env: {
        COPILOT_OFFLINE: 'true',
        COPILOT_AUTO_UPDATE: 'false',
        COPILOT_MODEL: 'fake',
        COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
        COPILOT_PROVIDER_API_KEY: 'none',
      },
    };
  },
};

export const doctor = createHookDoctor(hooks, {
  switches: readCopilotSwitches(program.folder),
  limits: { stopEvent: 'agentStop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: { blocks: 8 } },
  dryTurn,
});
