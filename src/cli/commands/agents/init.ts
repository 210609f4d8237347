/** init: changes an agent's settings, so that it asks before it stops. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describePlans, findPolicies, isUnknownPolicy } from '../../../agents/doctor/worker-checks.ts';
import { type Agent, agents } from '../../../agents/index.ts';
import {
  type Form,
  hookProgram,
  httpForms,
  type Line,
  type Poster,
  posterOf,
  posters,
} from '../../../agents/setup/line.ts';
import { findProgram, type Places, type Scope } from '../../../agents/setup/places.ts';
import { type Change, diffTexts, openSettings, writeSettings } from '../../../agents/setup/settings-file.ts';
import type { LineSetup, SettingsSetup, Setup } from '../../../agents/setup/setup.ts';
import { shellWord } from '../../../agents/shared/text.ts';
import { casesFile, firstCases } from '../../../config/case-schema.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { tokenForHttp } from '../../../config/own-address.ts';
import { isLoopback } from '../../../config/values.ts';
import { AppError } from '../../../errors.ts';
import { type Context, defineCommand, type Flags } from '../../command.ts';
import { readId } from '../../option-values.ts';
import { programName } from '../../program-name.ts';
import { askYes, canAsk, chooseAgent } from '../../questions.ts';
import { judgeSession, reportFindings } from './session-judgement.ts';

const names = [...agents.keys()];

const args = {
  agent: { type: 'positional', valueHint: 'AGENT', required: false, description: names.join(', ') },
  project: { type: 'boolean', description: 'the settings of this folder (default, except for codex)' },
  user: { type: 'boolean', description: 'your own settings, for all folders' },
  policy: { type: 'string', valueHint: 'P', description: 'the policy for its sessions' },
  fleet: { type: 'string', valueHint: 'F', description: 'the fleet of its sessions, if the service serves several' },
  http: {
    type: 'string',
    valueHint: 'HOST:PORT',
    description: 'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, else 127.0.0.1:4280)',
  },
  form: {
    type: 'enum',
    options: [...httpForms],
    valueHint: 'FORM',
    description:
      'how it asks (default: curl, else command; for claude and qwen http+curl, else http; with --user perl or http+perl first)',
  },
  'on-unreachable': {
    type: 'enum',
    options: ['allow', 'block'] as ('allow' | 'block')[],
    valueHint: 'WORD',
    description: 'what happens to a stop that could not be judged (default: allow); block needs --form command',
  },
  autostart: {
    type: 'boolean',
    description: 'start the service in this folder if none answers; needs --form command',
  },
  'token-env': {
    type: 'string',
    valueHint: 'NAME',
    description: 'the variable from which the agent takes the token (STOPGATE_TOKEN, if that is set)',
  },
  'block-cap': {
    type: 'string',
    valueHint: 'N',
    description: 'claude, qwen: let it obey N blocks in a row instead of 8 or 7 (claude: 0 for any number)',
  },
  wake: {
    type: 'boolean',
    description: 'claude: add a hook that wakes a session when its escalation is resolved with a prompt',
  },
  usage: {
    type: 'boolean',
    description:
      'let it send what it uses (budgets, "stopgate spend"): claude and codex with --user, gemini, qwen; for copilot it prints the variables',
  },
  worker: { type: 'string', valueHint: 'W', description: 'shell: the name of its worker' },
  remove: { type: 'boolean', description: 'remove exactly what init has added' },
  yes: { type: 'boolean', description: 'do not ask' },
  'dry-run': { type: 'boolean', description: 'only show the change' },
  json: { type: 'boolean', description: 'print JSON, for programs' },
} as const;

type InitContext = Context<Flags<typeof args>>;

export const init = defineCommand({
  args,
  details: [
    'Shows the change to the settings of the agent, asks, and changes nothing else in them.',
    'If a policy checks the plan and the plan tools of Claude Code are off, it offers to switch them on.',
    'Without AGENT it lists the agents on this machine.',
  ],
  examples: ['stopgate init claude', 'stopgate init codex --policy strict --yes', 'stopgate init claude --remove'],
  run: async (context) => {
    const { flags, io } = context;
    const name = flags.agent ?? (await chooseAgent(context));
    if (name === null) return 2;
    const agent = agents.get(name);
    if (agent === undefined)
      throw new AppError('input.bad', `there is no agent '${name}'; these are: ${names.join(', ')}`);
    const setup = await agent.setup();
    if (setup.kind === 'line') return printLine(agent, setup, context);
    if (flags.worker !== undefined)
      throw new AppError('input.bad', `--worker is for shell: each session of ${name} is a worker of its own`);
    const places: Places = { cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env };
    return connect({ agent, setup, places, context });
  },
});

type Connecting = {
  readonly agent: Agent;
  readonly setup: SettingsSetup;
  readonly places: Places;
  readonly context: InitContext;
};

async function connect(connecting: Connecting): Promise<number> {
  const { agent, setup, places, context } = connecting;
  const { flags, note } = context;
  const { remove, 'dry-run': dryRun } = flags;
  const scope = readScope(agent.name, setup, flags);
  const { line, config } = await readLine(agent.name, setup, scope, context);
  const blockCap = readCap(agent.name, setup, flags);
  if (flags.usage && !remove) checkUsage(agent, setup, { scope, line }, note);
  const planTools = !remove && (await choosePlanTools(connecting, line.http));
  const planned = setup.plan({ scope, places, line, blockCap, planTools, usage: flags.usage, remove });
  const [change] = planned;
  const settings = planned.filter(({ file, after }) => after !== file.text);
  const cases = settings.length === 0 ? null : planCases(places.cwd, scope, remove);
  const changes = cases === null ? settings : [...settings, cases];
  if (changes.length > 0 && !(await confirm(connecting, { scope, line }, changes))) return 2;
  if (!dryRun) for (const { file, after } of changes) writeSettings(file, after);
  const granted = remove || dryRun ? null : ((await setup.trust?.grant(change, places)) ?? null);
  if (granted !== null && granted.note !== null) note(granted.note);
  const trusted = granted?.state ?? null;
  const changed = changes.length > 0 || trusted === 'written';
  const { path } = change.file;
  const findings = remove || dryRun ? [] : await judgeSession(agent.name, line, config, places);
  if (flags.json) {
    const shown = changes.map(({ file, after }) => ({ file: file.path, before: file.text, after }));
    const environment = (flags.usage && !remove && setup.usage?.environment?.(line)) || {};
    const about = { agent: agent.name, scope, file: path, form: line.form, http: line.http, environment };
    await context.out.json({ ...about, changed, removed: remove, dryRun, trusted, changes: shown, findings });
  } else if (!changed) note(remove ? `${path} has nothing from stopgate` : `already there: ${path}`);
  else if (!dryRun) {
    const program = programName(context.io.env);
    note(remove ? `removed from ${path}` : nextSteps(agent.name, path, program));
    if (cases !== null && !remove)
      note(`${casesFile} has two first cases, for your policies before they bite: "${program} test" runs them.`);
  }
  return reportFindings(findings, flags.json ? () => {} : note);
}

/**
 * A first case file for `stopgate test`, where policies are or are to come, and never over another. It is taken out again
 * as long as nobody has written in it. Null: it stays as it is.
 */
function planCases(cwd: string, scope: Scope, remove: boolean): Change | null {
  const file = openSettings(join(cwd, casesFile), cwd);
  if (remove) return file.text === firstCases ? { file, after: null } : null;
  const isWanted = scope === 'project' || existsSync(join(cwd, 'stopgate.yaml'));
  return isWanted && file.text === null ? { file, after: firstCases } : null;
}

/** Is the agent to get the tools by which it keeps a plan? Asked where a policy looks at the plan, and it has none. */
async function choosePlanTools({ agent, setup, places, context }: Connecting, http: string): Promise<boolean> {
  const { flags, io, note } = context;
  const tools = setup.planTools?.(places) ?? null;
  if (tools === null || tools.state === 'on') return false;
  const config = await loadConfig({ flags: { http: flags.http }, cwd: io.cwd, env: io.env });
  const effect = describePlans((await findPolicies(config, http))?.policies ?? new Map());
  if (effect === null) return false;
  const asks = tools.state === 'off' && !flags.yes && !flags['dry-run'] && canAsk(io);
  const isOff = `off (${tools.why}), and without them ${effect}`;
  if (tools.state === 'refused' || asks) note(`the plan tools of ${agent.title} are ${isOff}`);
  else note(`this change turns on the plan tools of ${agent.title}: they are ${isOff}`);
  if (!asks) return tools.state === 'off';
  return askYes(io, `Switch them on, by ${tools.variable}=1 in its settings?`);
}

function nextSteps(name: string, file: string, program: string): string {
  return `written to ${file}. New sessions use it; "${program} doctor ${name}" checks that it works.`;
}

/** Does the project's file get paths of this machine? Others take it from the repository. */
const hasOwnPaths = (scope: Scope, { form }: Line): boolean =>
  scope === 'project' && (form === 'command' || posterOf(form) === 'perl');
const ownPathsNotice =
  'its lines have paths of this machine, so for others who share this file they judge nothing: use --form curl, or --user';

async function confirm(
  { setup, context }: Connecting,
  { scope, line }: { scope: Scope; line: Line },
  changes: readonly Change[],
): Promise<boolean> {
  const { flags, io, out, note } = context;
  if (!flags.json) {
    for (const change of changes) await out.print(...formatChange(change, out.colors));
    if (setup.trust !== null && !flags.remove) note(setup.trust.notice);
    if (hasOwnPaths(scope, line) && !flags.remove) note(ownPathsNotice);
  }
  if (flags.yes || flags['dry-run']) return true;
  if (!canAsk(io)) {
    const problem = 'nothing was changed: there is no terminal to ask on; pass --yes, or --dry-run to see the change';
    throw new AppError('input.bad', problem);
  }
  const agreed = await askYes(io, 'Do this?');
  if (!agreed) note('nothing was changed');
  return agreed;
}

function formatChange({ file, after }: Change, colors: InitContext['out']['colors']): string[] {
  const link = file.target === file.path ? '' : ` (a link to ${file.target})`;
  const what = after === null ? ' (is removed)' : file.text === null ? ' (a new file)' : '';
  const paint = { '+': colors.green, '-': colors.red, ' ': String, '…': colors.dim };
  const lines = diffTexts(file.text ?? '', after ?? '').map(({ sign, text }) => paint[sign](`${sign} ${text}`));
  return [colors.bold(`${file.path}${link}${what}`), ...lines];
}

function readScope(name: string, { scopes }: SettingsSetup, { project, user }: InitContext['flags']): Scope {
  if (project && user) throw new AppError('input.bad', 'use either --project or --user');
  const scope: Scope = user ? 'user' : project ? 'project' : (scopes[0] as Scope);
  if (scopes.includes(scope)) return scope;
  throw new AppError('input.bad', `${name} has its hooks in the user's own settings only: --user`);
}

function readCap(
  name: string,
  { blockCap }: SettingsSetup,
  { 'block-cap': cap }: InitContext['flags'],
): number | undefined {
  if (cap === undefined) return undefined;
  if (blockCap === null) {
    const problem = `--block-cap is for claude and qwen: init cannot set the cap of ${name} (see docs/agents.md)`;
    throw new AppError('input.bad', problem);
  }
  const { least, most } = blockCap;
  if (/^\d{1,6}$/.test(cap) && Number(cap) >= least && Number(cap) <= most) return Number(cap);
  const range = least === 0 ? '(0: no cap)' : `from ${least} to ${most}`;
  throw new AppError('input.bad', `--block-cap '${cap}' is not a whole number ${range}`);
}

/** Its token cannot stand in a file that is often committed. */
function checkUsage(
  { name, title }: Agent,
  { usage }: SettingsSetup,
  { scope, line }: { readonly scope: Scope; readonly line: Line },
  note: InitContext['note'],
): void {
  if (usage === null)
    throw new AppError('input.bad', `${title} cannot send what it uses by itself: see docs/agents/usage.md`);
  if (!usage.scopes.includes(scope))
    throw new AppError(
      'input.bad',
      `${name} takes where it sends what it uses from your own settings alone: add --user`,
    );
  const { tokenEnv } = line;
  if (usage.environment !== null)
    note(
      `${title} takes where it sends what it uses from its environment alone: ${formatEnv(usage.environment(line))}`,
    );
  if (tokenEnv !== undefined)
    note(
      `set OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $${tokenEnv}" where ${name} starts: what it uses needs the token, too`,
    );
}

const formatEnv = (variables: Readonly<Record<string, string>>): string =>
  `export ${Object.entries(variables)
    .map(([name, value]) => `${name}=${shellWord(value)}`)
    .join(' ')}`;

type Connected = { readonly line: Line; readonly config: Config };

/** @throws AppError input.bad: options that cannot be combined */
async function readLine(
  name: string,
  setup: Setup,
  scope: Scope,
  { flags, io, note }: InitContext,
): Promise<Connected> {
  const { policy, fleet, autostart, wake, 'on-unreachable': onUnreachable = 'allow' } = flags;
  if (wake && !(setup.kind === 'settings' && setup.wakes))
    throw new AppError('input.bad', `--wake is for claude: ${name} has no hooks that wake it`);
  const config = await loadConfig({ flags: { http: flags.http, fleet }, cwd: io.cwd, env: io.env });
  const { http } = config;
  if (http === null) {
    const problem = 'the service has no HTTP (http: off), and hooks come over HTTP; pass --http HOST:PORT';
    throw new AppError('input.bad', problem);
  }
  const isTokenKnown = Boolean(io.env.STOPGATE_TOKEN) || !isLoopback(http.host);
  const tokenEnv = flags['token-env'] ?? (isTokenKnown ? 'STOPGATE_TOKEN' : undefined);
  if (tokenEnv !== undefined && !/^[A-Za-z_]\w*$/.test(tokenEnv))
    throw new AppError('input.bad', `--token-env '${tokenEnv}' is not the name of a variable`);
  // Its hooks would send the token there from now on.
  if (tokenEnv !== undefined) tokenForHttp(config, `$${tokenEnv}`);
  const form = readForm(name, setup, { flags, io }, { scope, url: http.url, tokenEnv });
  if (
    policy !== undefined &&
    !flags.remove &&
    isUnknownPolicy(policy, (await findPolicies(config, http.url))?.policies ?? null)
  )
    note(`stopgate: there is no policy ${policy} yet: until you add it, sessions that name it get default`);
  const line = {
    ...{ form, http: http.url, tokenEnv, onUnreachable, wake },
    policy: policy === undefined ? undefined : readId('policy', policy),
    fleet: fleet === undefined ? undefined : readId('fleet', fleet),
    autostart: autostart ? io.cwd : undefined,
    program: hookProgram(),
  };
  return { line, config };
}

type Target = { readonly scope: Scope; readonly url: string; readonly tokenEnv: string | undefined };

/**
 * Each call starts a command, and Perl or curl take a fraction of the time; where the agent posts by itself, they are for
 * stops alone, of which a person must know that nobody judged them. The line for Perl has the path of a script on this
 * machine, so it is no default for a project's settings: others take these from the repository.
 */
function defaultForm({ kind, forms: possible }: Setup, target: Target, { env }: InitContext['io']): Form {
  const [first] = possible as [Form];
  const isHere = (program: string) => findProgram(program, env) !== null;
  if (kind !== 'settings' || process.platform === 'win32' || !isHere('sh')) return first;
  const poster = posters.find(
    (it) => (it !== 'perl' || target.scope === 'user') && posterFault(it, target) === null && isHere(it),
  );
  const form = poster === undefined ? first : first === 'http' ? (`http+${poster}` as const) : poster;
  return possible.includes(form) ? form : first;
}

/** Why it cannot post there. Null: it can. */
function posterFault(poster: Poster, { url, tokenEnv }: Omit<Target, 'scope'>): string | null {
  if (poster === 'curl') return tokenEnv === undefined ? null : 'would show the token in the process list';
  return url.startsWith('https:') ? `cannot post to ${url}: it has no TLS` : null;
}

function readForm(name: string, setup: Setup, { flags, io }: Pick<InitContext, 'flags' | 'io'>, target: Target): Form {
  const { forms: possible } = setup;
  const { autostart, 'on-unreachable': onUnreachable = 'allow' } = flags;
  const needsCommand = onUnreachable === 'block' || autostart;
  const form =
    flags.form ?? (needsCommand && possible.includes('command') ? 'command' : defaultForm(setup, target, io));
  if (!possible.includes(form))
    throw new AppError('input.bad', `${name} has no hooks of the form ${form}; it takes ${possible.join(', ')}`);
  const poster = posterOf(form);
  const fault = poster === undefined ? null : posterFault(poster, target);
  if (fault !== null) throw new AppError('input.bad', `the form ${form} ${fault}; use --form command`);
  if (!needsCommand || form === 'command') return form;
  const option = autostart ? '--autostart' : '--on-unreachable block';
  throw new AppError(
    'input.bad',
    `${option} needs --form command: a hook of the form ${form} always allows a stop when nobody answers`,
  );
}

async function printLine(agent: Agent, setup: LineSetup, context: InitContext): Promise<number> {
  const { flags, out, note } = context;
  const { line } = await readLine(agent.name, setup, 'user', context);
  const command = setup.commandFor(line, readId('worker', flags.worker ?? 'w1'));
  if (flags.json) await out.json({ agent: agent.name, form: line.form, http: line.http, command });
  else {
    await out.print(command);
    note(`run this line wherever your script or tool is about to stop; ${setup.meaningOf(line.form)}`);
    if (flags.worker === undefined) note('w1 is an example: name its worker with --worker W');
  }
  return 0;
}
