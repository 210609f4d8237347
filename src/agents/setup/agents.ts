/**
 * What `init` writes for each agent, and where: a row an agent. Pure, but for the places, which are made of the folders
 * handed in. Seen with the versions in `seen`; Cursor is only documented.
 */
import { join } from 'node:path';
import { shellWord } from '../../shell-word.ts';
import type { HookSettings } from './hook-settings.ts';

export type Form = 'http' | 'command' | 'curl';
export type Scope = 'project' | 'user';

export type Places = {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};
/** What the hook is to say and do. */
export type Line = {
  readonly form: Form;
  /** `http://host:port` */
  readonly http: string;
  readonly policy: string | undefined;
  /** The variable with the token; undefined: none is needed. */
  readonly tokenEnv: string | undefined;
  readonly onUnreachable: 'allow' | 'block';
  readonly autostart: string | undefined;
  /** One more hook is to wake it when a person has spoken. */
  readonly wake: boolean;
  /** The words that run the command hook. */
  readonly program: readonly string[];
};

type Event = {
  readonly name: string;
  readonly isStop: boolean;
  /** For how long the hook may take. */
  readonly seconds: number;
};
export type SetupAgent = {
  readonly title: string;
  readonly binary: string;
  /** The version of which what stands here was seen; null: from its documentation. */
  readonly seen: string | null;
  readonly forms: readonly Form[];
  readonly scopes: readonly Scope[];
  /** The settings file, and the folder that it must lie in. */
  readonly file: (scope: Scope, places: Places) => string;
  readonly events: (form: Form) => readonly Event[];
  readonly grouped: boolean;
  readonly head: object;
  readonly handler: (event: Event, line: Line) => object;
  /** Beside the stop's own; undefined: nothing wakes it. */
  readonly waker?: (line: Line) => readonly [event: string, handler: object];
};

const stopSeconds = 600;
/** A person takes his time. */
const wakeSeconds = 24 * 60 * 60;
/** Checks may run after these: not for as long as for a stop, since they come with every tool. */
const lookSeconds = 60;
const tellSeconds = 10;

const told = (...names: readonly string[]): Event[] =>
  names.map((name) => ({ name, isStop: false, seconds: tellSeconds }));
const looks = (...names: readonly string[]): Event[] =>
  names.map((name) => ({ name, isStop: false, seconds: lookSeconds }));
const stops = (...names: readonly string[]): Event[] =>
  names.map((name) => ({ name, isStop: true, seconds: stopSeconds }));
const within =
  (project: readonly string[], user: (places: Places) => string) =>
  (scope: Scope, places: Places): string =>
    scope === 'project' ? join(places.cwd, ...project) : user(places);
const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** It never posts SessionStart. */
const claudeEvents = (form: Form): Event[] => [
  ...told(...(form === 'http' ? [] : ['SessionStart']), 'UserPromptSubmit'),
  // Before its structured output is taken it asks; the command hook keeps a time of its own for other tools.
  { name: 'PreToolUse', isStop: false, seconds: form === 'command' ? stopSeconds : lookSeconds },
  ...told('PermissionRequest', 'PostToolUse', 'PostToolUseFailure'),
  ...looks('PostToolBatch'),
  ...told('StopFailure'),
  ...stops('TaskCompleted', 'SubagentStop', 'Stop'),
  ...told('SubagentStart', 'SessionEnd'),
];

export const setupAgents = {
  claude: {
    title: 'Claude Code',
    binary: 'claude',
    seen: '2.1.329',
    forms: ['http', 'command', 'curl'],
    scopes: ['project', 'user'],
    file: within(['.claude', 'settings.json'], ({ home, env }) =>
      join(given(env.CLAUDE_CONFIG_DIR) ?? join(home, '.claude'), 'settings.json'),
    ),
    events: claudeEvents,
    grouped: true,
    head: {},
    handler: (event, line) =>
      line.form === 'http'
        ? { type: 'http', url: urlOf('claude', event, line, false), ...headersOf(line), timeout: event.seconds }
        : { type: 'command', command: commandOf('claude', event, line), timeout: event.seconds },
    // `async` beside it, for without it a run that takes no more input would wait for the hook.
    waker: (line) => [
      'Stop',
      {
        ...{ type: 'command', command: wakeCommand('claude', line), timeout: wakeSeconds },
        ...{ async: true, asyncRewake: true },
      },
    ],
  },
  codex: {
    title: 'Codex',
    binary: 'codex',
    seen: '0.169.0',
    forms: ['command', 'curl'],
    scopes: ['user'],
    file: (_scope, { home, env }) => join(given(env.CODEX_HOME) ?? join(home, '.codex'), 'hooks.json'),
    events: () => [
      ...told('SessionStart', 'UserPromptSubmit', 'PermissionRequest', 'PostToolUse', 'SubagentStart'),
      // It allows no more there, and says so in every session that asks for more.
      { name: 'SessionEnd', isStop: false, seconds: 3 },
      ...stops('SubagentStop', 'Stop'),
    ],
    grouped: true,
    head: {},
    handler: (event, line) => ({
      type: 'command',
      command: commandOf('codex', event, line),
      timeout: event.seconds,
    }),
  },
  gemini: {
    title: 'Gemini CLI',
    binary: 'gemini',
    seen: '0.61.0',
    forms: ['command', 'curl'],
    scopes: ['project', 'user'],
    file: within(['.gemini', 'settings.json'], ({ home }) => join(home, '.gemini', 'settings.json')),
    events: () => [
      ...told('SessionStart', 'BeforeAgent'),
      ...looks('AfterTool'),
      ...told('Notification', 'SessionEnd'),
      ...stops('AfterAgent'),
    ],
    grouped: true,
    head: {},
    // A hook that is missing or crashes blocks there for ever: whatever happens, the line ends in an allow.
    handler: (event, line) => ({
      ...{ type: 'command', name: 'stopgate' },
      command: withGuard(commandOf('gemini', event, line)),
      timeout: event.seconds * 1_000,
    }),
  },
  copilot: {
    title: 'Copilot CLI',
    binary: 'copilot',
    seen: '1.0.102',
    forms: ['command', 'curl'],
    scopes: ['project', 'user'],
    file: within(['.github', 'hooks', 'stopgate.json'], ({ home }) => join(home, '.copilot', 'hooks', 'stopgate.json')),
    // Under these names, and not the PascalCase ones, a sub-agent's call is known to say whose it is.
    events: () => [
      ...told('sessionStart', 'userPromptSubmitted', 'postToolUse', 'notification', 'subagentStart', 'sessionEnd'),
      ...stops('agentStop', 'subagentStop'),
    ],
    grouped: false,
    head: { version: 1 },
    handler: (event, line) => ({
      type: 'command',
      bash: commandOf(
        'copilot',
        event,
        line,
        `--event ${event.name}${event.isStop ? ` --timeout ${stopSeconds - 5}s` : ''}`,
      ),
      timeoutSec: event.seconds,
    }),
  },
  cursor: {
    title: 'Cursor',
    binary: 'cursor-agent',
    seen: null,
    forms: ['command', 'curl'],
    scopes: ['project', 'user'],
    file: within(['.cursor', 'hooks.json'], ({ home }) => join(home, '.cursor', 'hooks.json')),
    events: () => [...told('beforeSubmitPrompt', 'postToolUse', 'afterFileEdit', 'sessionEnd'), ...stops('stop')],
    grouped: false,
    head: { version: 1 },
    handler: (event, line) => ({ command: commandOf('cursor', event, line, `--event ${event.name}`) }),
  },
} satisfies Record<string, SetupAgent>;

export type SetupName = keyof typeof setupAgents;

export function settingsFor(name: SetupName, line: Line): HookSettings {
  const agent: SetupAgent = setupAgents[name];
  const { events, grouped, head, handler, waker } = agent;
  const handlers = events(line.form).map((event) => [event.name, handler(event, line)] as const);
  const wakers = line.wake && waker !== undefined ? [waker(line)] : [];
  return { events: [...handlers, ...wakers], grouped, head, isOurs: (found) => isOurs(name, found) };
}

/**
 * By what the line does, not by how this version writes it: one that was written by hand is ours too. A path or a script
 * of somebody else's may be named like a part of ours (`~/hooks/claude`), so no part alone is enough.
 */
export function isOurs(agent: string, handler: Readonly<Record<string, unknown>>): boolean {
  const { url, command, bash } = handler;
  const posts = new RegExp(`^https?://[^/]+/hooks/${agent}(?:[?'"\\s]|$)`);
  const runs = [
    `(?:^|[\\s/'"])stopgate(?:[@./]\\S*)?['"]? +hook +${agent}(?:\\s|$)`,
    `/hook(?:-command)?/main\\.[jt]s['"]? +${agent} (?:.* )?--http[ =]`,
    `\\bhttps?://[^/\\s]+/hooks/${agent}(?:[?'"\\s]|$)`,
  ].map((shape) => new RegExp(shape));
  return (
    (typeof url === 'string' && posts.test(url)) ||
    [command, bash].some((text) => typeof text === 'string' && runs.some((shape) => shape.test(text)))
  );
}

/** `named`: the call does not say its event, so the address does. */
export function urlOf(agent: string, event: Event | null, { http, policy }: Line, named: boolean): string {
  const query = [
    ...(named && event !== null ? [`event=${event.name}`] : []),
    ...(policy === undefined ? [] : [`policy=${policy}`]),
  ];
  return `${http}/hooks/${agent}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

const headersOf = ({ tokenEnv }: Line): object =>
  tokenEnv === undefined ? {} : { headers: { Authorization: `Bearer $${tokenEnv}` }, allowedEnvVars: [tokenEnv] };

/** No secret stands in it: agents show the line to the model. */
export function commandOf(agent: string, event: Event | null, line: Line, more = ''): string {
  const { form, http, policy, tokenEnv, onUnreachable, autostart, program } = line;
  if (form === 'curl') {
    const url = urlOf(agent, event, line, true);
    const patience = event === null ? stopSeconds - 5 : Math.max(event.seconds - 5, event.seconds / 2);
    // A proxy that the agent's model needs must not get the call: it would be silence.
    return `curl -sf --noproxy '*' -m ${patience} -H 'content-type: application/json' --data-binary @- '${url}' 2>/dev/null || exit 0`;
  }
  const words = [
    ...program.map(shellWord),
    agent,
    ...(more === '' ? [] : [more]),
    `--http ${shellWord(http.replace(/^http:\/\//, ''))}`,
    ...(policy === undefined ? [] : [`--policy ${policy}`]),
    ...(tokenEnv === undefined || tokenEnv === 'STOPGATE_TOKEN' ? [] : [`--token-env ${tokenEnv}`]),
    ...(onUnreachable === 'allow' ? [] : [`--on-unreachable ${onUnreachable}`]),
    ...(autostart === undefined ? [] : [`--autostart ${shellWord(autostart)}`]),
  ];
  return words.join(' ');
}

/** It judges nothing, so nothing of how to judge is said. */
function wakeCommand(agent: string, { http, tokenEnv, program }: Line): string {
  const line = { form: 'command', http, tokenEnv, program, onUnreachable: 'allow', wake: true } as const;
  // Without a shell between, it sees when the agent is gone.
  return `exec ${commandOf(agent, null, { ...line, policy: undefined, autostart: undefined }, '--wake')}`;
}

const withGuard = (command: string): string => (command.endsWith('|| exit 0') ? command : `${command} || exit 0`);
