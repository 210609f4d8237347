/** init: changes an agent's settings so that it asks before it stops. */

import { join } from 'node:path';
import type { Answer } from '../../../agents/doctor/doctor.ts';
import { checkAnswer } from '../../../agents/doctor/service-checks.ts';
import { checkSession } from '../../../agents/doctor/session-checks.ts';
import { describePlans, findPolicies } from '../../../agents/doctor/worker-checks.ts';
import { type Agent, agents } from '../../../agents/index.ts';
import { agentsMd, withoutSection, withSection } from '../../../agents/setup/agents-md.ts';
import type { Line } from '../../../agents/setup/line.ts';
import { findInstalled, type Installed, type LocalContext, type Scope } from '../../../agents/setup/local-context.ts';
import { type Change, diffTexts, openSettings, writeSettings } from '../../../agents/setup/settings-file.ts';
import type { LineSetup, SettingsSetup } from '../../../agents/setup/setup.ts';
import { shellWord } from '../../../agents/shared/text.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { homeFolder } from '../../../config/environment.ts';
import { AppError } from '../../../errors.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { formatTable } from '../../../terminal/table.ts';
import { formatCount } from '../../../terminal/text.ts';
import { defineCommand } from '../../command.ts';
import { ask, askYes, canAsk } from '../../questions.ts';
import { rulesFile, templates } from '../../templates.ts';
import {
  canUseCurl,
  checkScopes,
  type InitContext,
  initArgs,
  names,
  readCap,
  readLine,
  readScope,
} from './init-options.ts';
import { writeTemplate } from './write-template.ts';

const templateList = Object.entries(templates)
  .map(([name, purpose]) => `${name} (${purpose})`)
  .join(', ');

export const init = defineCommand({
  args: initArgs,
  details: [
    'Says which settings of the agent it will change, and asks. Nothing else in the settings changes. --diff shows every line.',
    'If a policy checks the plan and the plan tools of Claude Code are off, it offers to turn them on.',
    `Without AGENT, --policy writes a ${rulesFile} to start from, with the test command of the project, and cases for "stopgate test": ${templateList}.`,
    'Without AGENT and --policy it lists the agents on this machine and asks which one to set up. Without a terminal it only lists them; exit code 2.',
  ],
  examples: [
    'stopgate init claude',
    'stopgate init codex --policy strict --yes',
    'stopgate init claude --remove',
    'stopgate init --policy tests',
  ],
  run: async (context) => {
    const { flags, io } = context;
    if (flags.agent === undefined && flags.policy !== undefined) return writeTemplate(flags.policy, context);
    const name = flags.agent ?? (await chooseAgent(context));
    if (name === null) return 2;
    const agent = agents.get(name);
    if (agent === undefined)
      throw new AppError('input.bad', `unknown agent '${name}'; use one of: ${names.join(', ')}`);
    const { setup } = await agent.settings();
    if (setup.kind === 'line') return printLine(agent, setup, context);
    if (flags.worker !== undefined)
      throw new AppError('input.bad', `--worker is only for shell: each session of ${name} is its own worker`);
    const places: LocalContext = { cwd: io.cwd, home: homeFolder(io.env), env: io.env };
    return connect({ agent, setup, places, context });
  },
});

/** Lists the agents on this machine and asks which one to set up. Returns null if nobody can be asked. */
async function chooseAgent({ io, out, note, flags }: InitContext): Promise<string | null> {
  const found = await findAll({ cwd: io.cwd, home: homeFolder(io.env), env: io.env });
  if (flags.json) {
    await out.json(found);
    return null;
  }
  const rows = [...agents.values()].map(({ name, title }) => [
    { text: name, paint: out.colors.bold },
    { text: title },
    { text: describeInstalled(found.find((each) => each.name === name)) },
  ]);
  await out.print(...formatTable(['AGENT', '', 'INSTALLED'], rows, out.width()));
  if (!canAsk(io)) {
    note('give the name of an agent: stopgate init AGENT');
    return null;
  }
  const name = await ask(io, 'Which one? ');
  return name === '' ? null : name;
}

/** @param installed undefined if the agent has no settings */
function describeInstalled(installed: Installed | undefined): string {
  if (installed === undefined) return 'nothing to install: init prints a command to run';
  return installed.binary ?? (installed.hasFolder ? 'only its settings' : '-');
}

async function findAll(places: LocalContext): Promise<Installed[]> {
  const found: Installed[] = [];
  for (const { name, title, settings } of agents.values()) {
    const { setup } = await settings();
    if (setup.kind === 'settings') found.push(findInstalled({ name, title, program: setup.program }, places));
  }
  return found;
}

type Connecting = {
  readonly agent: Agent;
  readonly setup: SettingsSetup;
  readonly places: LocalContext;
  readonly context: InitContext;
};

async function connect(connecting: Connecting): Promise<number> {
  const { agent, setup, places, context } = connecting;
  const { flags, note } = context;
  const { remove, 'dry-run': dryRun } = flags;
  const scope = readScope(agent.name, setup, flags);
  if (!remove) checkScopes(agent, setup, scope, { places, flags });
  const { line: given, config } = await readLine(agent.name, setup, context);
  const line = { ...given, scope };
  const blockCap = readCap(agent.name, setup, flags);
  if (flags.usage && !remove) checkUsage(agent, setup, { scope, line }, note);
  const planTools = !remove && !flags.usage && (await choosePlanTools(connecting, line.http));
  const planned = setup.plan({ scope, places, line, blockCap, planTools, usage: flags.usage, remove });
  const [change] = planned;
  const settings = planned.filter(({ file, after }) => after !== file.text);
  const changes = [...settings, ...planAgentsMd(places.cwd, flags)];
  if (changes.length > 0 && !(await confirm(connecting, { scope, line }, changes))) return 2;
  if (!dryRun) for (const { file, after } of changes) writeSettings(file, after);
  const granted = remove || dryRun || flags.usage ? null : ((await setup.trust?.grant(change, places)) ?? null);
  if (granted !== null && granted.note !== null) note(granted.note);
  const trusted = granted?.state ?? null;
  const changed = changes.length > 0 || trusted === 'written';
  const { path } = change.file;
  const findings = remove || dryRun ? [] : await checkNewSessions(agent.name, line, config, places);
  if (flags.json) {
    const shown = changes.map(({ file, after }) => ({ file: file.path, before: file.text, after }));
    const environment = (flags.usage && !remove && setup.usage?.environment?.(line)) || {};
    const about = { agent: agent.name, scope, file: path, form: line.form, http: line.http, environment };
    await context.out.json({ ...about, changed, removed: remove, dryRun, trusted, changes: shown, findings });
  } else if (!changed) note(remove ? `${path} has no settings of stopgate` : `already up to date: ${path}`);
  else if (!dryRun) {
    const next = `New sessions use it. To verify the setup, run "stopgate doctor ${agent.name}".`;
    note(remove ? `removed from ${path}` : `written to ${path}. ${next}`);
  }
  const isConnected = remove || dryRun || !flags.usage || (setup.connected?.(places) ?? [scope]).length > 0;
  if (!isConnected)
    note(`${agent.title} has no hooks yet, so no stop is judged; to add them, run: stopgate init ${agent.name}`);
  return reportFindings(findings, flags.json ? () => {} : note);
}

/** Adds a section about stopgate to AGENTS.md if asked to. With --remove, removes it. */
function planAgentsMd(cwd: string, flags: InitContext['flags']): Change[] {
  if (!flags.remove && !flags['agents-md']) return [];
  const file = openSettings(join(cwd, agentsMd), cwd);
  const after = flags.remove ? withoutSection(file.text) : withSection(file.text);
  return after === file.text ? [] : [{ file, after }];
}

/** Whether to turn on the agent's plan tools: asks if a policy checks the plan and the tools are off. */
async function choosePlanTools({ agent, setup, places, context }: Connecting, http: string): Promise<boolean> {
  const { flags, io, note } = context;
  const tools = setup.planTools?.(places) ?? null;
  if (tools === null || tools.state === 'on') return false;
  const config = await loadConfig({
    flags: { http: flags.http },
    cwd: io.cwd,
    env: io.env,
    contexts: { named: undefined },
  });
  const effect = describePlans((await findPolicies(config, http))?.policies ?? new Map());
  if (effect === null) return false;
  const asks = tools.state === 'off' && !flags.yes && !flags['dry-run'] && canAsk(io);
  const isOff = `off (${tools.why}); without them ${effect}`;
  if (tools.state === 'refused' || asks) note(`the plan tools of ${agent.title} are ${isOff}`);
  else note(`this change turns on the plan tools of ${agent.title}, which are ${isOff}`);
  if (!asks) return tools.state === 'off';
  return askYes(io, `Turn them on by setting ${tools.variable}=1 in its settings?`);
}

/** Whether a project file, which others get with the repository, would contain paths of this machine. */
const hasOwnPaths = (scope: Scope, { form }: Line): boolean => scope === 'project' && form === 'command';

function ownPathsNotice(line: Line): string {
  const other = canUseCurl(line) ? '--form curl, or --user' : '--user';
  return `the file contains paths of this machine, so stopgate does not work for others who share it; use ${other}`;
}

async function confirm(
  { setup, places, context }: Connecting,
  { scope, line }: { scope: Scope; line: Line },
  changes: readonly Change[],
): Promise<boolean> {
  const { flags, io, out, note } = context;
  if (!flags.json) {
    const isWhole = flags.diff || flags['dry-run'];
    for (const change of changes)
      await out.print(...(isWhole ? formatChange(change, out.colors, io.isTTY) : [summarize(change, line.http)]));
    if (!isWhole && changes.length > 0) note('--diff shows every line of it');
    const trustNotice = flags.remove ? null : (setup.trust?.describe(places) ?? null);
    if (trustNotice !== null) note(trustNotice);
    if (hasOwnPaths(scope, line) && !flags.remove && !flags.usage) note(ownPathsNotice(line));
    const others = flags.remove || flags.usage ? null : (setup.alsoRunBy?.(line) ?? null);
    if (others !== null) note(others);
  }
  if (flags.yes || flags['dry-run']) return true;
  if (!canAsk(io)) {
    const problem =
      'nothing was changed: there is no terminal to confirm on; pass --yes, or --dry-run to see the change';
    throw new AppError('input.bad', problem);
  }
  const agreed = await askYes(io, 'Make this change?');
  if (!agreed) note('nothing was changed');
  return agreed;
}

/** `.claude/settings.json (new): 20 lines added; calls http://127.0.0.1:4280` */
function summarize({ file, after }: Change, http: string): string {
  if (after === null) return describeFile(file, after);
  const lines = diffTexts(file.text ?? '', after).map(({ sign }) => sign);
  const counts = [
    ['added', lines.filter((sign) => sign === '+').length],
    ['removed', lines.filter((sign) => sign === '-').length],
  ] as const;
  const text = counts.flatMap(([verb, count]) => (count === 0 ? [] : [`${formatCount(count, 'line')} ${verb}`]));
  return `${describeFile(file, after)}: ${text.join(', ')}${after.includes(new URL(http).host) ? `; calls ${http}` : ''}`;
}

function describeFile({ path, target, text }: Change['file'], after: string | null): string {
  const link = target === path ? '' : ` (a link to ${target})`;
  return `${path}${link}${after === null ? ' (deleted)' : text === null ? ' (new)' : ''}`;
}

/** Longer lines are shell commands. Each is shown in full only once. */
const longLineChars = 240;

/** @param isShort shorten a long line that equals an earlier one except for its event */
function formatChange({ file, after }: Change, colors: InitContext['out']['colors'], isShort: boolean): string[] {
  const seen = new Set<string>();
  const shorten = (text: string): string => {
    if (!isShort || text.length < longLineChars) return text;
    const command = text.replace(/^\s*"\w+"/, '').replaceAll(/\bevent=\w+/g, '');
    if (seen.has(command))
      return text.replace(/("(?:command|bash)": ").*/, '$1…" (the same command as above, for this event)');
    seen.add(command);
    return text;
  };
  const paint = { '+': colors.green, '-': colors.red, ' ': String, '…': colors.dim };
  const lines = diffTexts(file.text ?? '', after ?? '').map(({ sign, text }) =>
    paint[sign](`${sign} ${shorten(text)}`),
  );
  return [colors.bold(describeFile(file, after)), ...lines];
}

/** Says what else usage reports need. The token cannot be in the settings file, because it is often committed. */
function checkUsage(
  { name, title }: Agent,
  { usage }: SettingsSetup,
  { scope, line }: { readonly scope: Scope; readonly line: Line },
  note: InitContext['note'],
): void {
  if (usage === null)
    throw new AppError('input.bad', `${title} cannot report usage; for other ways, see docs/agents/usage.md`);
  if (!usage.scopes.includes(scope))
    throw new AppError('input.bad', `${title} reads its usage settings only from your own settings; add --user`);
  const { tokenEnv } = line;
  if (usage.environment !== null)
    note(`${title} reads its usage settings only from its environment; run: ${formatEnv(usage.environment(line))}`);
  if (tokenEnv !== undefined)
    note(
      `usage reports need the token too; set OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $${tokenEnv}" where ${name} starts`,
    );
}

const formatEnv = (variables: Readonly<Record<string, string>>): string =>
  `export ${Object.entries(variables)
    .map(([name, value]) => `${name}=${shellWord(value)}`)
    .join(' ')}`;

async function printLine(agent: Agent, setup: LineSetup, context: InitContext): Promise<number> {
  const { flags, out, note } = context;
  const [given] = (['remove', 'usage', 'block-cap'] as const).filter(
    (option) => flags[option] !== undefined && flags[option] !== false,
  );
  if (given !== undefined)
    throw new AppError(
      'input.bad',
      `--${given} does not apply to ${agent.name}: init only prints a command and changes no settings`,
    );
  const { line } = await readLine(agent.name, setup, context);
  const command = setup.commandFor(line, flags.worker ?? 'w1');
  if (flags.json) await out.json({ agent: agent.name, form: line.form, http: line.http, command });
  else {
    await out.print(command);
    note(`run this command wherever your script or tool is about to stop; ${setup.meaningOf(line.form)}`);
    if (flags.worker === undefined) note('w1 is an example; set the id of the worker with --worker W');
  }
  return 0;
}

/**
 * Asks the service, with the token of the hooks, how it will judge new sessions of the agent. Returns the problems and
 * warnings; there are none if no service answers yet.
 */
async function checkNewSessions(
  agent: string,
  { http, policy, fleet, tokenEnv = 'STOPGATE_TOKEN' }: Line,
  config: Config,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<readonly Answer[]> {
  const names = { policy: policy ?? null, fleet: fleet ?? null };
  const session = { agent, cwd, ...names, tokenEnv, token: env[tokenEnv] || null };
  const findings = (await checkAnswer(http, session.token, config)) ?? (await checkSession(http, session, config));
  return findings.filter(({ state }) => state === 'bad' || state === 'warn');
}

/** @returns the exit code: 1 if stops will not be judged as intended */
function reportFindings(findings: readonly Answer[], note: (text: string) => void): number {
  for (const { state, text, fix } of findings) note(`${state === 'bad' ? '✗' : '!'} ${text} → ${fix}`);
  return findings.some(({ state }) => state === 'bad') ? 1 : 0;
}
