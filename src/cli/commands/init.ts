/** init: an agent's settings, so that it asks before it stops. */
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { listCodexHooks, putTrust, takeTrust } from '../../agents/codex/trust.ts';
import {
  commandOf,
  type Form,
  isOurs,
  type Line,
  type Places,
  type Scope,
  type SetupAgent,
  type SetupName,
  setupAgents,
  urlOf,
} from '../../agents/setup/agents.ts';
import { type Change, planChange, rootOf, withPlace } from '../../agents/setup/change.ts';
import { diffLines } from '../../agents/setup/diff.ts';
import { findInstalled, findProgram } from '../../agents/setup/installed.ts';
import { openSettings, writeSettings } from '../../agents/setup/settings-file.ts';
import { loadConfig } from '../../config/config.ts';
import { isLoopback } from '../../config/values.ts';
import { AppError } from '../../errors.ts';
import { builtScript } from '../../version.ts';
import type { Flags } from '../arguments.ts';
import { ask, askYes, canAsk } from '../ask.ts';
import { type Context, defineCommand } from '../command.ts';
import { readId } from '../service-call.ts';
import { formatTable } from '../table.ts';

const names = [...Object.keys(setupAgents), 'opencode', 'shell'];

const args = {
  agent: { type: 'positional', valueHint: 'AGENT', required: false, description: names.join(', ') },
  project: { type: 'boolean', description: 'the settings of this folder (the default, but for codex)' },
  user: { type: 'boolean', description: 'your own settings, for all folders' },
  policy: { type: 'string', valueHint: 'P', description: 'the policy that its sessions name when they begin' },
  http: {
    type: 'string',
    valueHint: 'HOST:PORT',
    description: 'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, else 127.0.0.1:4280)',
  },
  form: {
    type: 'enum',
    options: ['http', 'command', 'curl'] as ('http' | 'command' | 'curl')[],
    valueHint: 'FORM',
    description: 'how it asks (default: http for claude, else command)',
  },
  'on-unreachable': {
    type: 'enum',
    options: ['allow', 'block'] as ('allow' | 'block')[],
    valueHint: 'WORD',
    description: 'a stop that nobody could judge (default: allow); block needs the form command',
  },
  autostart: {
    type: 'boolean',
    description: 'start the service in this folder where none answers; needs the form command',
  },
  'token-env': {
    type: 'string',
    valueHint: 'NAME',
    description: 'the variable in which the agent has the token (STOPGATE_TOKEN, where that is set)',
  },
  'block-cap': {
    type: 'string',
    valueHint: 'N',
    description: 'claude: raise its own cap of 8 blocks in a row to N (0: no cap)',
  },
  wake: {
    type: 'boolean',
    description: 'claude: one more hook, which wakes a session when its escalation is resolved with a prompt',
  },
  worker: { type: 'string', valueHint: 'W', description: 'shell: who asks' },
  remove: { type: 'boolean', description: 'take exactly our own lines out again' },
  yes: { type: 'boolean', description: 'do it without asking' },
  'dry-run': { type: 'boolean', description: 'only show the change' },
  json: { type: 'boolean', description: 'print JSON, for programs' },
} as const;

type InitContext = Context<Flags<typeof args>>;

export const init = defineCommand({
  args,
  details: [
    'Shows what it would change in the settings of the agent, asks, and changes nothing else in them.',
    'Without AGENT it says which agents are here.',
  ],
  examples: ['stopgate init claude', 'stopgate init codex --policy strict --yes', 'stopgate init claude --remove'],
  run: async (context) => {
    const { flags, io } = context;
    const name = flags.agent ?? (await choose(context));
    if (name === null) return 2;
    const places: Places = { cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env };
    if (name === 'shell') return printShell(context);
    if (name !== 'opencode' && !Object.hasOwn(setupAgents, name))
      throw new AppError('input.bad', `there is no agent '${name}'; these are: ${names.join(', ')}`);
    return connect(name as SetupName | 'opencode', places, context);
  },
});

async function connect(name: SetupName | 'opencode', places: Places, context: InitContext): Promise<number> {
  const { flags, note } = context;
  const scope = readScope(name, flags);
  const line = await readLine(name, context);
  const change = planChange(name, { scope, places, line, blockCap: readCap(name, flags), remove: flags.remove });
  const trust = name === 'codex' ? planTrust(change, places, flags.remove) : null;
  const changes = [change, ...(trust === null ? [] : [trust])].filter(({ file, after }) => after !== file.text);
  if (changes.length > 0 && !(await confirm(name, changes, context))) return 2;
  if (!flags['dry-run']) for (const { file, after } of changes) writeSettings(file, after);
  const trusted =
    name === 'codex' && !flags.remove && !flags['dry-run'] ? await trustCodex(change, places, context) : null;
  const changed = changes.length > 0 || trusted === 'written';
  if (flags.json) {
    const shown = changes.map(({ file, after }) => ({ file: file.path, before: file.text, after }));
    const about = { agent: name, scope, file: change.file.path, form: line.form, http: line.http };
    await context.out.json({
      ...about,
      changed,
      removed: flags.remove,
      dryRun: flags['dry-run'],
      trusted,
      changes: shown,
    });
  } else if (!changed)
    note(flags.remove ? `nothing of ours is in ${change.file.path}` : `already there: ${change.file.path}`);
  else if (!flags['dry-run']) note(flags.remove ? `taken out of ${change.file.path}` : nextSteps(name, change));
  return 0;
}

function nextSteps(name: string, { file }: Change): string {
  return `written to ${file.path}. New sessions use it; "stopgate doctor ${name}" checks that it works.`;
}

/** Removal: our block goes with the hooks. What Codex is to trust, it says only when they are there. */
function planTrust({ file }: Change, places: Places, remove: boolean): Change | null {
  if (!remove) return null;
  const config = openSettings(join(dirname(file.path), 'config.toml'), rootOf('user', places, setupAgents.codex));
  return config.text === null ? null : withPlace(config, (text) => takeTrust(text ?? ''));
}

async function trustCodex({ file }: Change, places: Places, { note, io }: InitContext) {
  const explain = (why: string) => {
    note(
      `${why}, so Codex does not trust these hooks yet, and skips them without a word: open it and accept them by /hooks`,
    );
    return 'no' as const;
  };
  const binary = findProgram('codex', places.env);
  if (binary === null) return explain('codex is not on PATH');
  const hooks = await listCodexHooks(binary, io.cwd, places.env);
  const ours = (hooks ?? []).filter(
    ({ sourcePath, command }) =>
      [file.path, file.target].includes(sourcePath) && isOurs('codex', { command: command ?? '' }),
  );
  if (ours.length === 0) return explain('codex did not say which hooks it knows');
  const config = openSettings(join(dirname(file.path), 'config.toml'), rootOf('user', places, setupAgents.codex));
  const { after } = withPlace(config, (text) => putTrust(text, ours));
  if (after === config.text) return 'yes' as const;
  writeSettings(config, after);
  note(`trusted in ${config.path}`);
  return 'written' as const;
}

async function confirm(
  name: string,
  changes: readonly Change[],
  { flags, io, out, note }: InitContext,
): Promise<boolean> {
  if (!flags.json) for (const change of changes) await out.print(...formatChange(change, out.colors));
  if (!flags.json && name === 'codex' && !flags.remove)
    note('It is then trusted in config.toml, which Codex asks for: see "codex app-server", hooks/list.');
  if (flags.yes || flags['dry-run']) return true;
  if (canAsk(io)) {
    const agreed = await askYes(io, 'Do this?');
    if (!agreed) note('nothing was changed');
    return agreed;
  }
  throw new AppError(
    'input.bad',
    'nothing was changed: without a terminal to ask, say --yes (or --dry-run to look only)',
  );
}

function formatChange({ file, after }: Change, colors: InitContext['out']['colors']): string[] {
  const link = file.target === file.path ? '' : ` (a link to ${file.target})`;
  const what = after === null ? ' (the file goes)' : file.text === null ? ' (a new file)' : '';
  const paint = { '+': colors.green, '-': colors.red, ' ': String, '…': colors.dim };
  const lines = diffLines(file.text ?? '', after ?? '').map(({ sign, text }) => paint[sign](`${sign} ${text}`));
  return [colors.bold(`${file.path}${link}${what}`), ...lines];
}

function readScope(name: string, { project, user }: InitContext['flags']): Scope {
  if (project && user) throw new AppError('input.bad', '--project and --user cannot both hold');
  const scopes: readonly Scope[] = name === 'opencode' ? ['project', 'user'] : setupAgents[name as SetupName].scopes;
  const scope: Scope = user ? 'user' : project ? 'project' : (scopes[0] as Scope);
  if (scopes.includes(scope)) return scope;
  throw new AppError('input.bad', `${name} has its hooks in the user's own settings only: --user`);
}

function readCap(name: string, { 'block-cap': cap }: InitContext['flags']): number | undefined {
  if (cap === undefined) return undefined;
  if (name !== 'claude') throw new AppError('input.bad', `--block-cap is for claude: ${name} has no cap to be set`);
  if (!/^\d{1,6}$/.test(cap)) throw new AppError('input.bad', `--block-cap '${cap}' is no whole number (0: no cap)`);
  return Number(cap);
}

/** @throws AppError input.bad: what cannot be had together */
async function readLine(name: string, { flags, io }: InitContext): Promise<Line> {
  const { policy, autostart, wake, 'on-unreachable': onUnreachable = 'allow' } = flags;
  const agent: SetupAgent | undefined = (setupAgents as Record<string, SetupAgent>)[name];
  if (wake && agent?.waker === undefined)
    throw new AppError('input.bad', `--wake is for claude: ${name} has no hooks that wake it`);
  const needsCommand = onUnreachable === 'block' || autostart;
  const forms: readonly Form[] = agent?.forms ?? (name === 'shell' ? ['command', 'curl'] : ['http']);
  const form = flags.form ?? (needsCommand && forms.includes('command') ? 'command' : (forms[0] as Form));
  if (!forms.includes(form))
    throw new AppError('input.bad', `${name} has no hooks of the form ${form}; it takes ${forms.join(', ')}`);
  if (needsCommand && form !== 'command') {
    const option = autostart ? '--autostart' : '--on-unreachable block';
    throw new AppError(
      'input.bad',
      `${option} needs the form command: a hook of the form ${form} can only be silent then`,
    );
  }
  const { http } = await loadConfig({ flags: { http: flags.http }, cwd: io.cwd, env: io.env });
  if (http === null)
    throw new AppError(
      'input.bad',
      'the service has no HTTP (http: off), and hooks come over HTTP; say --http HOST:PORT',
    );
  const tokenEnv =
    flags['token-env'] ?? (io.env.STOPGATE_TOKEN || !isLoopback(http.host) ? 'STOPGATE_TOKEN' : undefined);
  if (tokenEnv !== undefined && !/^[A-Za-z_]\w*$/.test(tokenEnv))
    throw new AppError('input.bad', `--token-env '${tokenEnv}' is no name of a variable`);
  if (tokenEnv !== undefined && form === 'curl')
    throw new AppError('input.bad', 'the form curl would show the token in the list of processes; take --form command');
  return {
    ...{ form, http: http.url, tokenEnv, onUnreachable, wake },
    policy: policy === undefined ? undefined : readId('policy', policy),
    autostart: autostart ? io.cwd : undefined,
    program: [process.execPath, builtScript('hook-command/main.js')],
  };
}

async function printShell(context: InitContext): Promise<number> {
  const { flags, out } = context;
  const worker = readId('worker', flags.worker ?? 'w1');
  const line = await readLine('shell', context);
  const command =
    line.form === 'curl'
      ? `curl -sf --noproxy '*' -X POST -H 'content-type: application/json' -d '{"worker":"${worker}"}' '${urlOf('shell', null, line, false)}'`
      : commandOf('shell', null, line, `--worker ${worker}`);
  if (flags.json) await out.json({ agent: 'shell', form: line.form, http: line.http, command });
  else await out.print(command);
  return 0;
}

/** Null: nobody could be asked; what is there has been said. */
async function choose({ io, out, note, flags }: InitContext): Promise<string | null> {
  const found = findInstalled({ cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env });
  if (flags.json) {
    await out.json(found);
    return null;
  }
  const rows = found.map(({ name, title, binary, hasFolder }) => [
    { text: name, paint: out.colors.bold },
    { text: title },
    { text: binary ?? (hasFolder ? 'only its settings' : '-') },
  ]);
  await out.print(...formatTable(['AGENT', '', 'INSTALLED'], rows, out.width()));
  if (!canAsk(io)) {
    note('name one: stopgate init AGENT');
    return null;
  }
  const name = await ask(io, 'Which one? ');
  return name === '' ? null : name;
}
