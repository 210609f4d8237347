/** doctor: checks the service and the settings of agents, and says how to fix problems. */
import { homedir } from 'node:os';
import {
  type Answer,
  bad,
  type CheckContext,
  type Finding,
  findingsAbout,
  skip,
  type TokenPass,
} from '../../../agents/doctor/doctor.ts';
import { checkConfig, checkNode, checkService, type ServiceState } from '../../../agents/doctor/service-checks.ts';
import { readSession, type Session } from '../../../agents/doctor/session.ts';
import { checkOwnService, checkSession, refusalOf } from '../../../agents/doctor/session-checks.ts';
import { checkWorkers, findPolicies } from '../../../agents/doctor/worker-checks.ts';
import { type Agent, agents } from '../../../agents/index.ts';
import { findProgram, type LocalContext } from '../../../agents/setup/local-context.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { withholdSecrets } from '../../../config/own-address.ts';
import { AppError } from '../../../errors.ts';
import { clean } from '../../../terminal/text.ts';
import { type Context, commandLine, defineCommand, type Flags, flag, option, optionalArgument } from '../../command.ts';
import { connectAsAgent } from '../../connection.ts';
import { formatAgo } from '../../text/state-text.ts';
import { environmentOf } from './agent-turn.ts';

const list = [...agents.values()];
const names = list.filter(({ doctor }) => doctor !== null).map(({ name }) => name);
const withDryTurn = list.filter(({ doctor }) => doctor === 'dry turn').map(({ name }) => name);

const args = {
  agent: optionalArgument('AGENT', `${names.join(', ')}, acp`, [...names, 'acp']),
  command: commandLine('with acp: the agent and its arguments', false),
  http: option(
    'HOST:PORT',
    'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, otherwise 127.0.0.1:4280)',
  ),
  fleet: option('F', 'the fleet of the workers (STOPGATE_FLEET; default: main)'),
  config: option('FILE', 'the policies to check (default: stopgate.yaml, otherwise those of the service)'),
  context: option('CONTEXT', 'the named context to use (STOPGATE_CONTEXT; see "stopgate context")'),
  quick: flag('skip the dry turn'),
  json: flag('print JSON'),
} as const;
type DoctorContext = Context<Flags<typeof args>>;

export const doctor = defineCommand({
  args,
  details: [
    'Checks the service and the settings of AGENT, or of every connected agent. Exit code 1: there are problems.',
    `With AGENT (${withDryTurn.join(', ')}) it also runs a dry turn of the real program, to see whether the hook runs and a block works. The turn uses a temporary folder, its own home folder and a free local model; your account and settings are not touched.`,
    'With acp it checks an agent for "stopgate acp": it starts the command after "--" as an editor would, with your account, for a session in a temporary folder. The dry turn is two short answers of its model. Nothing is stored.',
  ],
  examples: [
    'stopgate doctor',
    'stopgate doctor claude',
    'stopgate doctor codex --quick --json',
    'stopgate doctor acp -- opencode acp',
  ],
  run: async (context) => {
    const { flags, io } = context;
    const { agent, http, fleet, config: configFile, context: named } = flags;
    if (agent === 'acp') return report(await examineAcp(context), context);
    if (flags.command[0] !== undefined)
      throw new AppError(
        'input.bad',
        `unexpected argument '${flags.command[0]}'; only "stopgate doctor acp" takes a command`,
      );
    if (agent !== undefined && agents.has(agent) && !names.includes(agent)) {
      const instead = `run "stopgate doctor" to check the service, then the line that "stopgate init ${agent}" prints`;
      throw new AppError('input.bad', `${agent} has no settings to check; ${instead}`);
    }
    if (agent !== undefined && !names.includes(agent))
      throw new AppError('input.bad', `unknown agent '${agent}'; the doctor checks ${names.join(', ')}, acp`);
    const places: LocalContext = { cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env };
    const loaded = await loadConfig({
      flags: { http, fleet, config: configFile },
      cwd: io.cwd,
      env: io.env,
      contexts: { named },
    });
    // An untrusted checkout may name any server, so its configuration does not get the token.
    const config = withholdSecrets(loaded);
    const service = await checkService(
      config,
      { nodeVersion: process.version, env: io.env },
      config.token !== loaded.token,
    );
    const known = await findPolicies(config, service.http);
    const [policies, dayBudget] = [known?.policies ?? null, known?.budget ?? null];
    const examination = {
      places,
      config,
      service,
      policies,
      dayBudget,
      isNamed: agent !== undefined,
      quick: flags.quick,
    };
    const found = findingsAbout('service', [...service.answers, checkConfig(config, policies)]);
    let isConnected = false;
    for (const each of list) {
      if (agent !== undefined && agent !== each.name) continue;
      const result = await examine(each, examination);
      found.push(...findingsAbout(each.name, result.answers));
      isConnected ||= result.isConnected;
    }
    // For a connected agent, a finding already says which service judges its sessions.
    if (!isConnected && service.http !== null)
      found.push(...findingsAbout('service', await checkOwnService(service.http, io.cwd, config)));
    if (!isConnected)
      found.push(...findingsAbout('agents', [bad('no agent is connected to stopgate', 'stopgate init AGENT')]));
    return report(found, context);
  },
});

/** @returns the exit code */
async function report(found: readonly Finding[], { flags, out, asTyped }: DoctorContext): Promise<number> {
  const findings = found.map((finding) => ({
    ...finding,
    text: asTyped(finding.text),
    ...(finding.fix && { fix: asTyped(finding.fix) }),
  }));
  const isBad = findings.some(({ state }) => state === 'bad');
  if (flags.json) await out.json({ ok: !isBad, findings });
  else await out.print(...findings.flatMap((finding) => format(finding, out.colors)));
  return isBad ? 1 : 0;
}

async function examineAcp({ flags, io }: DoctorContext): Promise<Finding[]> {
  const [file, ...args] = flags.command;
  if (file === undefined)
    throw new AppError('input.bad', 'no agent given; write its command after "--": stopgate doctor acp -- AGENT ARGS…');
  const { checkAcp } = await import('../../../acp/doctor.ts');
  const address = {
    nats: undefined,
    creds: undefined,
    fleet: flags.fleet,
    config: flags.config,
    context: flags.context,
  };
  const findings = await checkAcp({
    command: [file, ...args],
    cwd: io.cwd,
    env: environmentOf(io),
    quick: flags.quick,
    signal: io.interrupt(),
    connect: async () => (await connectAsAgent(address, io, 'stopgate doctor')).open(),
  });
  return [...findingsAbout('service', [checkNode(process.version)]), ...findings];
}

type Examination = {
  readonly places: LocalContext;
  readonly config: Config;
  readonly service: ServiceState;
  readonly policies: CheckContext['policies'];
  readonly dayBudget: CheckContext['dayBudget'];
  /** The user named the agent. */
  readonly isNamed: boolean;
  readonly quick: boolean;
};

async function examine(
  { name, title, settings }: Agent,
  examination: Examination,
): Promise<{ answers: readonly Answer[]; isConnected: boolean }> {
  const { places, config, service, policies, dayBudget, isNamed, quick } = examination;
  const { setup, doctor } = await settings();
  if (doctor === undefined || setup.kind !== 'settings') return { answers: [], isConnected: false };
  const { program } = setup;
  const binary = findProgram(program.binary, places.env);
  const { scopes, problems, lines, check, dryTurn } = doctor.find(places);
  if (!isNamed && scopes.length === 0 && problems.length === 0) {
    const hint = skip(`${title} is installed but not connected: stopgate init ${name}`);
    return { answers: binary === null ? [] : [hint], isConnected: false };
  }
  const { needsToken } = service;
  const context = { agent: { name, title, program }, binary, places, url: config.http?.url ?? '', needsToken };
  const runsDryTurn = isNamed && !quick && dryTurn !== null;
  const answers = [...problems, ...(await check({ ...context, policies, dayBudget, runsDryTurn }))];
  const read = readSession(name, lines, places);
  // Hooks do not send their token to an address found in a file, so the doctor does not either.
  const session = config.httpIsFound ? { ...read, token: null } : read;
  if (service.http !== null && lines.length > 0) answers.push(...(await checkSession(service.http, session, config)));
  answers.push(...(await askWorkers(name, scopes, examination)));
  if (isNamed && !quick) {
    const path = places.env.PATH ?? '';
    if (dryTurn === null) answers.push(skip('dry turn: not available for this agent'));
    else if (binary !== null) answers.push(await dryTurn(binary, path, passOf(session, service)));
    else answers.push(bad(`dry turn: not run, because ${program.binary} is not on PATH`, withoutProgram));
  }
  return { answers, isConnected: true };
}

/** Returns null if the service needs no token or does not answer, or if no token is set. */
function passOf(session: Session, { http, needsToken }: ServiceState): TokenPass | null {
  const { tokenEnv, token } = session;
  if (http === null || !needsToken || token === null) return null;
  return { variable: tokenEnv, value: token, refusalOf: (sent) => refusalOf(http, session, sent) };
}

/** The fix if the agent's program is missing: the user asked whether a block works, and that is still unknown. */
const withoutProgram = 'install it, or put it on PATH; --quick checks the settings alone';

async function askWorkers(
  agent: string,
  scopes: readonly string[],
  { places: { cwd }, config: { fleet, token }, service: { http } }: Examination,
): Promise<Answer[]> {
  if (http === null) return [];
  return [await checkWorkers({ http, fleet, token, agent, cwd, scopes, ago: formatAgo })];
}

function format({ state, about, text, fix }: Finding, colors: Context['out']['colors']): string[] {
  const mark = { ok: colors.green('✓'), warn: colors.yellow('!'), bad: colors.red('✗'), skip: colors.dim('-') }[state];
  const how = fix === undefined ? '' : ` → ${clean(fix)}`;
  return [`${mark} ${colors.bold(about)}  ${clean(text)}${how}`];
}
