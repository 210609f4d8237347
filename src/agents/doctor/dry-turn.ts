/**
 * One turn of an agent's real program, in a scratch folder with a scratch home and an environment of its own, against a
 * model on loopback: the user's account, settings and sessions are never touched. The first stop is blocked, the second
 * allowed: does the hook fire, and does the agent go on?
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listCodexHooks, putTrust } from '../codex/trust.ts';
import { type Line, settingsFor } from '../setup/agents.ts';
import { putHooks } from '../setup/hook-settings.ts';
import { type FakeModel, openMessagesModel, openResponsesModel } from './fake-models.ts';
import { bad, type Finding, ok } from './finding.ts';
import { type Loopback, openLoopback, sendJson } from './loopback.ts';

export type DryTurn = {
  /** The events that came to the hook, in order. */
  readonly events: readonly string[];
  readonly turns: number;
  /** The model was told the reason of the block. */
  readonly wasTold: boolean;
  /** How the program ended, where it ended badly. */
  readonly failure: string | null;
};
export type LiveAgent = 'claude' | 'codex';
export const liveAgents: readonly string[] = ['claude', 'codex'] satisfies LiveAgent[];

const reason = 'stopgate doctor: this first stop is blocked to see that a block holds.';
const turnTimeoutMs = 90_000;

export async function runDryTurn(name: LiveAgent, binary: string, line: Line, path: string): Promise<DryTurn> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-doctor-')));
  const events: string[] = [];
  let model: FakeModel | undefined;
  let gate: Loopback | undefined;
  try {
    const project = join(scratch, 'project');
    for (const folder of [project, join(scratch, 'home')]) mkdirSync(folder);
    gate = await openGate(events);
    model = await (name === 'claude' ? openMessagesModel() : openResponsesModel());
    // Of the line only its form counts: what it asks here is the gate of this turn.
    const asked: Line = { ...line, http: gate.url, policy: undefined, tokenEnv: undefined, autostart: undefined };
    const env = { PATH: path, HOME: join(scratch, 'home'), TERM: 'dumb', LANG: 'C.UTF-8', NO_COLOR: '1' };
    const settings = putHooks(null, settingsFor(name, asked));
    const start = name === 'claude' ? prepareClaude : prepareCodex;
    const { args, more } = await start({ scratch, project, settings, model: model.url, binary, env });
    const failure = await run(binary, args, project, { ...env, ...more });
    const told = model.turns.at(-1)?.includes(JSON.stringify(reason).slice(1, -1)) ?? false;
    return { events, turns: model.turns.length, wasTold: told, failure };
  } finally {
    await Promise.all([gate?.close(), model?.close()]);
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function judgeDryTurn(name: string, { events, turns, wasTold, failure }: DryTurn): Finding {
  const stops = events.filter((event) => event === 'Stop').length;
  if (stops >= 2 && turns >= 2 && wasTold) {
    const fired = [...new Set(events)].join(', ');
    return ok(name, `dry turn: ${fired} fired; the first stop was blocked, and the agent went on with the reason`);
  }
  const ended = failure === null ? '' : `; the program said: ${failure}`;
  const what =
    events.length === 0
      ? 'no hook fired'
      : stops === 0
        ? `${events.join(', ')} fired, but no Stop`
        : 'a stop was asked for, but the block did not hold';
  return bad(
    name,
    `dry turn: ${what}, in ${turns} turn${turns === 1 ? '' : 's'} of the model${ended}`,
    'this version of the agent may want its hooks otherwise; see whether a newer stopgate knows it',
  );
}

function openGate(events: string[]): Promise<Loopback> {
  let stops = 0;
  return openLoopback(({ body }, response) => {
    const event = String((body as { hook_event_name?: unknown } | null)?.hook_event_name ?? 'unknown');
    events.push(event);
    if (event === 'Stop') stops += 1;
    if (event === 'Stop' && stops === 1) sendJson(response, 200, { decision: 'block', reason });
    else response.writeHead(204).end();
  });
}

type Stage = {
  readonly scratch: string;
  readonly project: string;
  readonly settings: string;
  readonly model: string;
  readonly binary: string;
  readonly env: Readonly<Record<string, string>>;
};
type Prepared = { readonly args: readonly string[]; readonly more: Readonly<Record<string, string>> };

async function prepareClaude({ scratch, settings, model }: Stage): Promise<Prepared> {
  const config = join(scratch, 'home', '.claude');
  mkdirSync(config);
  writeFileSync(join(config, 'settings.json'), settings);
  return {
    args: ['-p', 'Say hello.', '--output-format', 'json'],
    more: {
      ...{ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'none', CLAUDE_CONFIG_DIR: config },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', IS_SANDBOX: '1' },
    },
  };
}

/** Trusted in the same way as by `init`, so that this is tried too. */
async function prepareCodex({ scratch, project, settings, model, binary, env }: Stage): Promise<Prepared> {
  const home = join(scratch, 'home', '.codex');
  mkdirSync(home);
  const config = `model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${model}/v1"
env_key = "FAKE_MODEL_KEY"
wire_api = "responses"
`;
  writeFileSync(join(home, 'config.toml'), config);
  writeFileSync(join(home, 'hooks.json'), settings);
  const more = { CODEX_HOME: home, FAKE_MODEL_KEY: 'none' };
  const hooks = await listCodexHooks(binary, project, { ...env, ...more });
  writeFileSync(join(home, 'config.toml'), putTrust(config, hooks ?? []));
  return { args: ['exec', '--skip-git-repo-check', '--json', 'Say hello.'], more };
}

/** Null: it ended well. A group of its own, since some programs start themselves again. */
function run(
  binary: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(binary, [...args], { cwd, env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-2_000);
      });
    const timer = setTimeout(() => killGroup(child.pid), turnTimeoutMs);
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const end = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      resolve(code === 0 ? null : `${end}, ${said.trim().slice(-300)}`);
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // gone meanwhile
  }
}
