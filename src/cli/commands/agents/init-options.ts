import { findPolicies, isUnknownPolicy } from '../../../agents/doctor/worker-checks.ts';
import { agents } from '../../../agents/index.ts';
import { type Form, hookProgram, httpForms, type Line, usesCurl } from '../../../agents/setup/line.ts';
import { findProgram, type Scope } from '../../../agents/setup/places.ts';
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
  project: flag('the settings of this folder (default, except for codex)'),
  user: flag('your own settings, for all folders'),
  policy: option('P', 'the policy for its sessions', idOf('policy')),
  fleet: option('F', 'the fleet of its sessions, if the service serves several', idOf('fleet')),
  http: option(
    'HOST:PORT',
    'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, else 127.0.0.1:4280)',
  ),
  form: choice(
    'FORM',
    httpForms,
    'how it asks (default: curl, else command; for claude and qwen http+curl, else http)',
  ),
  'on-unreachable': choice(
    'WORD',
    ['allow', 'block'],
    'what happens to a stop that could not be judged; block needs --form command (default: allow)',
  ),
  autostart: flag('start the service in this folder if none answers; needs --form command'),
  'token-env': option('NAME', 'the variable from which the agent takes the token (STOPGATE_TOKEN, if that is set)'),
  'block-cap': option('N', 'claude, qwen: let it obey N blocks in a row instead of 8 or 7 (claude: 0 for any number)'),
  wake: flag('claude: add a hook that wakes a session when its escalation is resolved with a prompt'),
  usage: flag(
    'let it send what it uses (budgets, "stopgate spend"): claude and codex with --user, gemini, qwen; for copilot it prints the variables',
  ),
  worker: option('W', 'shell: the name of its worker', idOf('worker')),
  remove: flag('remove exactly what init has added'),
  yes: flag('do not ask'),
  'dry-run': flag('only show the change'),
  json: flag('print JSON, for programs'),
} as const;

export type InitContext = Context<Flags<typeof initArgs>>;

export function readScope(name: string, { scopes }: SettingsSetup, { project, user }: InitContext['flags']): Scope {
  if (project && user) throw new AppError('input.bad', 'use either --project or --user');
  const scope: Scope = user ? 'user' : project ? 'project' : (scopes[0] as Scope);
  if (scopes.includes(scope)) return scope;
  throw new AppError('input.bad', `${name} has its hooks in the user's own settings only: --user`);
}

export function readCap(
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

type Connected = { readonly line: Line; readonly config: Config };

/** @throws AppError input.bad: options that cannot be combined */
export async function readLine(name: string, setup: Setup, { flags, io, note }: InitContext): Promise<Connected> {
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
  const form = readForm(name, setup, { flags, io }, { tokenEnv });
  if (
    policy !== undefined &&
    !flags.remove &&
    isUnknownPolicy(policy, (await findPolicies(config, http.url))?.policies ?? null)
  )
    note(`stopgate: there is no policy ${policy} yet: until you add it, sessions that name it get default`);
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
 * Each call starts a command, and curl takes a fraction of the time of Node. Where the agent posts by itself, curl is for
 * stops alone: a person must learn of a stop that nobody judged.
 */
function defaultForm({ kind, forms: possible }: Setup, token: TokenVariable, { env }: InitContext['io']): Form {
  const [first] = possible as [Form];
  const isHere = (program: string) => findProgram(program, env) !== null;
  if (kind !== 'settings' || process.platform === 'win32' || !isHere('sh') || !isHere('curl')) return first;
  const form = first === 'http' ? 'http+curl' : 'curl';
  return possible.includes(form) && hidesToken(form, token) ? form : first;
}

/** The token would be an argument of curl, and everyone on the machine sees arguments in the process list. */
const hidesToken = (form: Form, { tokenEnv }: TokenVariable): boolean => !usesCurl(form) || tokenEnv === undefined;

/** Says whether the same call would also work by `--form curl`. */
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
    throw new AppError('input.bad', `${name} has no hooks of the form ${form}; it takes ${possible.join(', ')}`);
  if (!hidesToken(form, token))
    throw new AppError('input.bad', `the form ${form} would show the token in the process list; use --form command`);
  if (!needsCommand || form === 'command') return form;
  const option = autostart ? '--autostart' : '--on-unreachable block';
  throw new AppError(
    'input.bad',
    `${option} needs --form command: a hook of the form ${form} always allows a stop when nobody answers`,
  );
}
