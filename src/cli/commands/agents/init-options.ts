/** The options of `init`, and what they mean for an agent: scope, block cap, hook line and form. */
import { findPolicies, isUnknownPolicy } from '../../../agents/doctor/worker-checks.ts';
import { type Agent, agents } from '../../../agents/index.ts';
import { type Form, hookProgram, httpForms, type Line, usesCurl } from '../../../agents/setup/line.ts';
import { findProgram, type LocalContext, type Scope } from '../../../agents/setup/local-context.ts';
import type { SettingsSetup, Setup } from '../../../agents/setup/setup.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { tokenForHttp } from '../../../config/own-address.ts';
import { isLoopback } from '../../../config/values.ts';
import { AppError } from '../../../errors.ts';
import { type Context, choice, type Flags, flag, option, optionalArgument } from '../../command.ts';
import { idOf } from '../../option-values.ts';

export const names = [...agents.keys()];

export const initArgs = {
  agent: optionalArgument('AGENT', names.join(', ')),
  project: flag('change the settings of this folder (default, except for codex)'),
  user: flag('change your own settings, for all folders'),
  policy: option(
    'P',
    'the policy to request for its sessions; without AGENT: write this one to start from',
    idOf('policy'),
  ),
  fleet: option('F', 'the fleet of its sessions, if the service serves several', idOf('fleet')),
  http: option(
    'HOST:PORT',
    'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, otherwise 127.0.0.1:4280)',
  ),
  form: choice(
    'FORM',
    httpForms,
    'how hooks call the service (default: curl, otherwise command; for claude and qwen http+curl, otherwise http)',
  ),
  'on-unreachable': choice(
    'WORD',
    ['allow', 'block'],
    'whether to allow or block a stop that cannot be judged; block needs --form command (default: allow)',
  ),
  autostart: flag('start the service in this folder if none answers; needs --form command'),
  'token-env': option('NAME', 'the variable with the token of the service (default: STOPGATE_TOKEN, if it is set)'),
  'block-cap': option(
    'N',
    'claude, qwen: obey up to N blocks in a row instead of 8 (claude) or 7 (qwen); claude: 0 for no limit',
  ),
  wake: flag('claude: add a hook that wakes a session when its escalation is resolved with a prompt'),
  usage: flag(
    'only report usage (for budgets and "stopgate spend"), and write no hooks: claude and codex with --user, gemini, qwen; for copilot, print the variables to set',
  ),
  'agents-md': flag('also add a section about stopgate to AGENTS.md, for the agent'),
  worker: option('W', 'shell: the id of its worker', idOf('worker')),
  remove: flag('remove exactly what init added'),
  yes: flag('do not ask for confirmation'),
  diff: flag('show every line of the change'),
  'dry-run': flag('only show the change, with every line'),
  json: flag('print JSON'),
} as const;

export type InitContext = Context<Flags<typeof initArgs>>;

/** The flags of an `init` without options. */
export const noFlags = Object.fromEntries(
  Object.entries(initArgs).map(([name, { type }]) => [name, type === 'flag' ? false : undefined]),
) as InitContext['flags'];

export function readScope(name: string, { scopes }: SettingsSetup, { project, user }: InitContext['flags']): Scope {
  if (project && user) throw new AppError('input.bad', '--project and --user cannot be used together; use one of them');
  const scope: Scope = user ? 'user' : project ? 'project' : (scopes[0] as Scope);
  if (scopes.includes(scope)) return scope;
  throw new AppError('input.bad', `${name} has hooks only in the user's settings; add --user`);
}

export function readCap(
  name: string,
  { blockCap }: SettingsSetup,
  { 'block-cap': cap }: InitContext['flags'],
): number | undefined {
  if (cap === undefined) return undefined;
  if (blockCap === null) {
    const problem = `--block-cap is only for claude and qwen; to change the cap of ${name}, see docs/agents.md`;
    throw new AppError('input.bad', problem);
  }
  const { least, most } = blockCap;
  if (/^\d{1,6}$/.test(cap) && Number(cap) >= least && Number(cap) <= most) return Number(cap);
  const range = least === 0 ? '(0 means no cap)' : `from ${least} to ${most}`;
  throw new AppError('input.bad', `--block-cap '${cap}' is not a whole number ${range}`);
}

/** Options about hooks. */
const hookFlags = ['policy', 'form', 'on-unreachable', 'autostart', 'block-cap', 'wake'] as const;

/** @throws AppError input.bad if hooks would run twice, or an option has no effect */
export function checkScopes(
  { name, title }: Pick<Agent, 'name' | 'title'>,
  setup: SettingsSetup,
  scope: Scope,
  { places, flags }: { readonly places: LocalContext; readonly flags: InitContext['flags'] },
): void {
  if (flags.usage) {
    const given = hookFlags.find((option) => flags[option] !== undefined && flags[option] !== false);
    if (given !== undefined)
      throw new AppError('input.bad', `--usage writes no hooks, so --${given} has no effect; run init without --usage`);
    return;
  }
  const other = setup.connected?.(places).find((found) => found.scope !== scope);
  if (other === undefined) return;
  const remove = `stopgate init ${name} ${other.scope === 'user' ? '--user' : '--project'} --remove`;
  throw new AppError(
    'input.bad',
    `${title} already has these hooks in ${other.file} and would run both; to move them, first run: ${remove}`,
  );
}

type Connected = { readonly line: Line; readonly config: Config };

/** @throws AppError input.bad if options cannot be combined */
export async function readLine(name: string, setup: Setup, { flags, io, note }: InitContext): Promise<Connected> {
  const { policy, fleet, autostart, wake, 'on-unreachable': onUnreachable = 'allow' } = flags;
  if (wake && !(setup.kind === 'settings' && setup.wakes))
    throw new AppError('input.bad', `--wake is only for claude: ${name} has no hooks that could wake it`);
  const config = await loadConfig({
    flags: { http: flags.http, fleet },
    cwd: io.cwd,
    env: io.env,
    contexts: { named: undefined },
  });
  const { http } = config;
  if (http === null) {
    const problem = 'the service has HTTP off, but hooks need it; pass --http HOST:PORT';
    throw new AppError('input.bad', problem);
  }
  const isTokenKnown = Boolean(io.env.STOPGATE_TOKEN) || !isLoopback(http.host);
  const tokenEnv = flags['token-env'] ?? (isTokenKnown ? 'STOPGATE_TOKEN' : undefined);
  if (tokenEnv !== undefined && !/^[A-Za-z_]\w*$/.test(tokenEnv))
    throw new AppError('input.bad', `--token-env '${tokenEnv}' is not a valid variable name`);
  // Throws if the token must not be sent to that address.
  if (tokenEnv !== undefined) tokenForHttp(config, `$${tokenEnv}`);
  const form = readForm(name, setup, { flags, io }, { tokenEnv });
  if (
    policy !== undefined &&
    !flags.remove &&
    isUnknownPolicy(policy, (await findPolicies(config, http.url))?.policies ?? null)
  )
    note(`stopgate: policy ${policy} does not exist yet; until you add it, these sessions get the default policy`);
  const line = {
    form,
    http: http.url,
    tokenEnv,
    onUnreachable,
    wake,
    policy,
    fleet,
    autostart: autostart ? io.cwd : undefined,
    program: hookProgram(),
  };
  return { line, config };
}

type TokenVariable = Pick<Line, 'tokenEnv'>;

/**
 * Prefers curl, which starts in a fraction of the time that Node takes. Agents that post hook calls themselves use curl
 * for stops only, so that a person learns of a stop that was not judged.
 */
function defaultForm({ kind, forms: possible }: Setup, token: TokenVariable, { env }: InitContext['io']): Form {
  const [first] = possible as [Form];
  const isHere = (program: string) => findProgram(program, env) !== null;
  if (kind !== 'settings' || process.platform === 'win32' || !isHere('sh') || !isHere('curl')) return first;
  const form = first === 'http' ? 'http+curl' : 'curl';
  return possible.includes(form) && hidesToken(form, token) ? form : first;
}

/** curl would take the token as an argument, which everyone on the machine can see in the process list. */
const hidesToken = (form: Form, { tokenEnv }: TokenVariable): boolean => !usesCurl(form) || tokenEnv === undefined;

/** Whether `--form curl` would work for the same options. */
export const canUseCurl = (line: Line): boolean =>
  line.onUnreachable === 'allow' && line.autostart === undefined && hidesToken('curl', line);

function readForm(
  name: string,
  setup: Setup,
  { flags, io }: Pick<InitContext, 'flags' | 'io'>,
  token: TokenVariable,
): Form {
  const { forms: possible } = setup;
  const { autostart, 'on-unreachable': onUnreachable = 'allow' } = flags;
  const needsCommand = onUnreachable === 'block' || autostart;
  const form = flags.form ?? (needsCommand && possible.includes('command') ? 'command' : defaultForm(setup, token, io));
  if (!possible.includes(form))
    throw new AppError('input.bad', `${name} does not support --form ${form}; use ${possible.join(', ')}`);
  if (!hidesToken(form, token))
    throw new AppError('input.bad', `--form ${form} would show the token in the process list; use --form command`);
  if (!needsCommand || form === 'command') return form;
  const option = autostart ? '--autostart' : '--on-unreachable block';
  throw new AppError(
    'input.bad',
    `${option} needs --form command: with --form ${form} a stop is always allowed when the service does not answer`,
  );
}
