/** doctor: what stands between an agent and a block, and how to mend it. */
import { homedir } from 'node:os';
import { listCodexHooks } from '../../agents/codex/trust.ts';
import { checkHooks, checkProgram, findHooks, type Hooked } from '../../agents/doctor/agent-checks.ts';
import { judgeDryTurn, type LiveAgent, liveAgents, runDryTurn } from '../../agents/doctor/dry-turn.ts';
import { bad, type Finding, skip } from '../../agents/doctor/finding.ts';
import { checkPlugins, findPlugins } from '../../agents/doctor/plugin-checks.ts';
import { checkService, type ServiceState } from '../../agents/doctor/service-checks.ts';
import { checkWorkers } from '../../agents/doctor/worker-checks.ts';
import { type Form, type Places, type SetupName, setupAgents } from '../../agents/setup/agents.ts';
import { findInstalled, findProgram } from '../../agents/setup/installed.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import { AppError } from '../../errors.ts';
import { builtScript } from '../../version.ts';
import { type Context, defineCommand } from '../command.ts';
import { formatAgo } from '../state-text.ts';
import { clean } from '../text.ts';

const settingsNames = Object.keys(setupAgents) as SetupName[];
const names: readonly string[] = [...settingsNames, 'opencode'];

export const doctor = defineCommand({
  args: {
    agent: { type: 'positional', valueHint: 'AGENT', required: false, description: names.join(', ') },
    http: {
      type: 'string',
      valueHint: 'HOST:PORT',
      description: 'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, else 127.0.0.1:4280)',
    },
    fleet: { type: 'string', valueHint: 'F', description: 'whose workers (STOPGATE_FLEET; default: main)' },
    config: { type: 'string', valueHint: 'FILE', description: 'the policies (default: stopgate.yaml)' },
    quick: { type: 'boolean', description: 'without the dry turn' },
    json: { type: 'boolean', description: 'print JSON, for programs' },
  },
  details: [
    'Looks at the service and at the settings of AGENT, or of every agent that is here. Exit code 1: something is wrong.',
    `With AGENT (${liveAgents.join(' or ')}) it also runs a dry turn of its real program: in a scratch folder, with a scratch home and a model on loopback that costs nothing, to see the hook fire and a block hold. Your account and settings are not touched.`,
  ],
  examples: ['stopgate doctor', 'stopgate doctor claude', 'stopgate doctor codex --quick --json'],
  run: async ({ flags, io, out }) => {
    const { agent, http, fleet, config: configFile } = flags;
    if (agent !== undefined && !names.includes(agent))
      throw new AppError('input.bad', `the doctor does not know '${agent}'; it knows ${names.join(', ')}`);
    const places: Places = { cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env };
    const config = await loadConfig({ flags: { http, fleet, config: configFile }, cwd: io.cwd, env: io.env });
    const service = await checkService(config, process.version);
    const findings: Finding[] = [...service.findings];
    const installed = findInstalled(places);
    let connected = 0;
    for (const name of settingsNames) {
      if (agent !== undefined && agent !== name) continue;
      const { hooked, findings: broken } = findHooks({ name, places });
      const isHere = installed.some((one) => one.name === name && one.binary !== null);
      if (agent === undefined && hooked.length === 0 && broken.length === 0) {
        if (isHere)
          findings.push(skip(name, `${setupAgents[name].title} is here, and not connected: stopgate init ${name}`));
        continue;
      }
      connected += 1;
      findings.push(...broken, ...(await checkAgent(name, hooked, { places, config, service })));
      if (agent !== undefined && !flags.quick) findings.push(await tryAgent(name, hooked, places));
    }
    const plugins = findPlugins(places);
    if (agent === 'opencode' || (agent === undefined && plugins.length > 0)) {
      connected += 1;
      findings.push(...checkPlugins(plugins, config.http?.url ?? ''));
      const scopes = plugins.map(({ scope }) => scope);
      findings.push(...(await askWorkers('opencode', scopes, { places, config, service })));
      if (agent !== undefined && !flags.quick)
        findings.push(skip('opencode', 'dry turn: not run, it is not known how'));
    }
    if (connected === 0) findings.push(bad('agents', 'no agent asks before it stops', 'stopgate init AGENT'));
    if (flags.json) await out.json({ ok: !findings.some(({ state }) => state === 'bad'), findings });
    else await out.print(...findings.flatMap((finding) => format(finding, out.colors)));
    return findings.some(({ state }) => state === 'bad') ? 1 : 0;
  },
});

type Surroundings = { readonly places: Places; readonly config: Config; readonly service: ServiceState };

async function checkAgent(
  name: SetupName,
  hooked: readonly Hooked[],
  { places, config, service }: Surroundings,
): Promise<Finding[]> {
  const binary = findProgram(setupAgents[name].binary, places.env);
  const program = await checkProgram(name, binary);
  const isCodex = name === 'codex' && binary !== null && hooked.length > 0;
  const codex = isCodex ? await listCodexHooks(binary, places.cwd, places.env) : null;
  const url = config.http?.url ?? '';
  const { policies } = config.file.policySet;
  const findings = [
    program,
    ...checkHooks({ name, places, url, needsToken: service.needsToken, policies, codex }, hooked),
  ];
  const scopes = hooked.map(({ scope }) => scope);
  return [...findings, ...(await askWorkers(name, scopes, { places, config, service }))];
}

async function askWorkers(
  agent: string,
  scopes: readonly string[],
  { places: { cwd }, config: { fleet, token }, service: { http } }: Surroundings,
): Promise<Finding[]> {
  if (http === null) return [];
  return [await checkWorkers({ http, fleet, token, agent, cwd, scopes, ago: formatAgo })];
}

/** The form of the hooks that are there, else the one that `init` would write. */
async function tryAgent(name: SetupName, hooked: readonly Hooked[], { env }: Places): Promise<Finding> {
  if (!liveAgents.includes(name)) return skip(name, 'dry turn: not run, it is not known how for this agent');
  const binary = findProgram(setupAgents[name].binary, env);
  if (binary === null) return skip(name, `dry turn: not run, ${setupAgents[name].binary} is not on PATH`);
  const values = hooked.flatMap(({ hooks }) => hooks.map(({ value }) => value));
  const isCurl = values.some(({ command }) => typeof command === 'string' && command.startsWith('curl '));
  const isHttp = name === 'claude' && values.every(({ type, async }) => type === 'http' || async === true);
  const form: Form = isCurl ? 'curl' : isHttp ? 'http' : 'command';
  const program = [process.execPath, builtScript('hook-command/main.js')];
  const line = { form, http: '', policy: undefined, tokenEnv: undefined, autostart: undefined, program };
  try {
    const turn = await runDryTurn(
      name as LiveAgent,
      binary,
      { ...line, wake: false, onUnreachable: 'allow' },
      env.PATH ?? '',
    );
    return judgeDryTurn(name, turn);
  } catch (error) {
    return bad(name, `dry turn: ${(error as Error).message}`, 'see whether the program starts at all');
  }
}

function format({ state, about, text, fix }: Finding, colors: Context['out']['colors']): string[] {
  const mark = { ok: colors.green('✓'), warn: colors.yellow('!'), bad: colors.red('✗'), skip: colors.dim('-') }[state];
  const how = fix === undefined ? '' : ` → ${clean(fix)}`;
  return [`${mark} ${colors.bold(about)}  ${clean(text)}${how}`];
}
