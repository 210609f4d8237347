/** An agent's program and settings: is our hook there, does it point here, may it take as long as a stop takes? */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getNodeValue } from 'jsonc-parser';
import type { Policy } from '../../../machines/index.ts';
import { findClaudePlugin } from '../claude/doctor-plugin.ts';
import { type CodexHook, trustIn } from '../codex/trust.ts';
import { isOurs, type Places, type Scope, type SetupAgent, type SetupName, setupAgents } from '../setup/agents.ts';
import { type FoundHook, readHooks } from '../setup/hook-settings.ts';
import { parseJson, positionOf, propertyOf, SyntaxProblem } from '../setup/json-edit.ts';
import { readText } from '../setup/settings-file.ts';
import { bad, type Finding, ok, skip, warn } from './finding.ts';
import { checkCap, checkTimes } from './limit-checks.ts';

export type Hooked = {
  readonly scope: string;
  readonly file: string;
  readonly text: string;
  readonly hooks: readonly FoundHook[];
};

type Facts = {
  readonly name: SetupName;
  readonly places: Places;
  /** The service's, as hooks should have it. */
  readonly url: string;
  readonly needsToken: boolean;
  readonly policies: ReadonlyMap<string, Policy>;
  /** Codex: what it says of its hooks itself; null: it was not asked, or did not say. */
  readonly codex: readonly CodexHook[] | null;
};

export async function checkProgram(name: SetupName, binary: string | null): Promise<Finding> {
  const { title, seen }: SetupAgent = setupAgents[name];
  if (binary === null) return skip(name, `${title} is not on PATH`);
  const version = await new Promise<string | null>((resolve) => {
    execFile(binary, ['--version'], { timeout: 15_000 }, (error, stdout) => {
      resolve(error === null ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null);
    });
  });
  if (version === null) return warn(name, `${binary} does not say its version`, 'see whether it starts at all');
  if (version === seen) return ok(name, `${title} ${version}`);
  const known = seen === null ? 'nothing of it was tried, only read' : `what we know was seen with ${seen}`;
  return warn(
    name,
    `${title} ${version}: ${known}`,
    'a dry turn ("stopgate doctor AGENT") shows whether it still holds',
  );
}

/** Where our hooks stand, and what of the settings cannot be read. */
export function findHooks({ name, places }: Pick<Facts, 'name' | 'places'>): { hooked: Hooked[]; findings: Finding[] } {
  const hooked: Hooked[] = [];
  const findings: Finding[] = [];
  const settings = new Map<string, unknown>();
  for (const [scope, path] of settingsOf(name, places)) {
    const text = readSettings(path);
    if (text === null) continue;
    if (typeof text !== 'string') {
      findings.push(bad(name, text.problem, 'mend it: nothing in it counts'));
      continue;
    }
    try {
      const all = readHooks(text);
      const hooks = all.filter(({ value }) => isOurs(name, value));
      if (hooks.length > 0) hooked.push({ scope, file: path, text, hooks });
      settings.set(scope, getNodeValue(parseJson(text.replace(/^\uFEFF/, ''))));
      findings.push(...checkSwitches(name, path, text));
      if (name === 'codex' && all.some(({ value }) => value.type === 'http'))
        findings.push(
          bad(name, `${path} has a hook of type "http", by which Codex drops the whole file`, 'take that hook out'),
        );
    } catch (error) {
      if (!(error instanceof SyntaxProblem)) throw error;
      const { line, column } = positionOf(text, error.offset);
      findings.push(
        bad(name, `${path}:${line}:${column}: ${error.message}`, 'mend it: the agent may ignore the whole file'),
      );
    }
  }
  const order = ['user', 'project', 'local'].map((scope) => settings.get(scope));
  const plugin = name === 'claude' ? findClaudePlugin(order, dirname(setupAgents.claude.file('user', places))) : null;
  return { hooked: plugin === null ? hooked : [...hooked, plugin], findings };
}

function readSettings(path: string): string | { problem: string } | null {
  try {
    return readText(path);
  } catch (error) {
    return { problem: `${path} cannot be read: ${(error as Error).message}` };
  }
}

function settingsOf(name: SetupName, places: Places): [string, string][] {
  const { scopes, file }: SetupAgent = setupAgents[name];
  const files = scopes.map((scope: Scope): [string, string] => [scope, file(scope, places)]);
  const local: [string, string][] =
    name === 'claude' ? [['local', join(places.cwd, '.claude', 'settings.local.json')]] : [];
  // In the home folder the project's are the user's.
  return [...files, ...local].filter(([, path], index, all) => all.findIndex(([, other]) => other === path) === index);
}

function checkSwitches(name: string, path: string, text: string): Finding[] {
  const off = propertyOf(parseJson(text.replace(/^\uFEFF/, '')), 'disableAllHooks')?.children?.[1]?.value;
  return off === true ? [bad(name, `${path} has "disableAllHooks": true`, 'take it out: no hook fires')] : [];
}

export function checkHooks(
  { name, url, needsToken, policies, places, codex }: Facts,
  hooked: readonly Hooked[],
): Finding[] {
  if (hooked.length === 0)
    return [bad(name, 'no hook of ours is in its settings, so nothing is asked', `stopgate init ${name}`)];
  const shadow =
    hooked.length > 1
      ? [
          warn(
            name,
            `our hooks stand in ${hooked.map(({ scope }) => scope).join(' and ')} settings: each call comes ${hooked.length} times`,
            `stopgate init ${name} --${hooked[0]?.scope === 'user' ? 'user' : 'project'} --remove`,
          ),
        ]
      : [];
  return [
    ...shadow,
    ...hooked.flatMap((one) => [
      checkAddress(name, one, url),
      ...checkEvents(name, one),
      ...checkLines(name, one),
      ...(needsToken ? checkToken(name, one, places) : []),
      ...checkTimes(name, one, policies),
      ...(name === 'codex' ? [checkTrust(one, codex ?? [])] : []),
    ]),
    ...checkCap(name, hooked, policies, places),
  ];
}

const lineOf = ({ value }: FoundHook): string => String(value.url ?? value.command ?? value.bash ?? '');

function checkAddress(name: string, { scope, file, hooks }: Hooked, url: string): Finding {
  const host = url.replace(/^https?:\/\//, '');
  const astray = hooks.find((hook) => {
    const line = lineOf(hook);
    // One that was written by hand without an address finds it as we have found it.
    if (/\bhook\b/.test(line) && !/--http[ =]|https?:\/\//.test(line)) return false;
    return (
      !line.includes(`//${host}/`) && !new RegExp(`--http[ =]\\S*${host.replaceAll('.', '\\.')}(?:'|\\s|$)`).test(line)
    );
  });
  if (astray === undefined) return ok(name, `${file} has our hooks, and they point to ${url}`);
  return bad(
    name,
    `${file}: the hook of ${astray.event} does not point to ${url}`,
    scope === 'plugin'
      ? `uninstall the plugin, and: stopgate init ${name} --http ${host}`
      : `stopgate init ${name} --http ${host}`,
  );
}

function checkEvents(name: SetupName, { file, hooks }: Hooked): Finding[] {
  const { events }: SetupAgent = setupAgents[name];
  const form = hooks.some(({ value }) => value.type === 'http') ? 'http' : 'command';
  const there = new Set(hooks.map(({ event }) => event));
  const missing = events(form).filter((event) => !there.has(event.name));
  if (missing.length === 0) return [];
  const names = missing.map((event) => event.name).join(', ');
  const fix = `stopgate init ${name}`;
  return [
    missing.some(({ name: event, isStop }) => isStop && ['Stop', 'AfterAgent', 'agentStop', 'stop'].includes(event))
      ? bad(name, `${file} has no hook for ${names}: no stop is ever judged`, fix)
      : warn(name, `${file} has no hook for ${names}: part of what the agent does stays unknown`, fix),
  ];
}

/** What the line itself needs: its program, and for Gemini a guard. */
function checkLines(name: SetupName, { file, hooks }: Hooked): Finding[] {
  const lines = hooks.map(lineOf);
  const program = lines
    .map((line) => /(\/\S*hook(?:-command)?\/main\.js)/.exec(line)?.[1])
    .find((path) => path !== undefined && !existsSync(path));
  const unguarded = name === 'gemini' && lines.some((line) => !/\|\| *(?:exit [01]|true) *$/.test(line));
  return [
    ...(program === undefined
      ? []
      : [bad(name, `${file} runs ${program}, which is not there`, `stopgate init ${name}`)]),
    ...(unguarded
      ? [
          bad(
            name,
            `${file}: a line does not end in "|| exit 0": where it crashes, Gemini never stops`,
            'stopgate init gemini',
          ),
        ]
      : []),
    ...(hooks.some(({ value }) => value.type === 'http')
      ? [
          warn(
            name,
            'its hooks are HTTP: with the service down every stop is allowed, and nothing is said',
            `where that is not good enough: stopgate init ${name} --on-unreachable block`,
          ),
        ]
      : []),
  ];
}

function checkToken(name: string, { file, hooks }: Hooked, { env }: Places): Finding[] {
  const bare = hooks.find(({ value }) => value.type === 'http' && value.headers === undefined);
  if (bare !== undefined)
    return [
      bad(
        name,
        `${file}: the service wants a token, and the hook of ${bare.event} sends none`,
        `stopgate init ${name} --token-env STOPGATE_TOKEN`,
      ),
    ];
  return env.STOPGATE_TOKEN
    ? []
    : [
        warn(
          name,
          'the service wants a token, and STOPGATE_TOKEN is not set here',
          'set it where the agent is started',
        ),
      ];
}

/** A hook that was changed by hand after it was trusted has another hash, which only Codex itself knows. */
function checkTrust({ file, hooks }: Hooked, listed: readonly CodexHook[]): Finding {
  const config = join(dirname(file), 'config.toml');
  const text = readText(config) ?? '';
  let trusted: number;
  try {
    const known = trustIn(text);
    const stale = listed.filter(({ key, currentHash }) => known.has(key) && known.get(key) !== currentHash);
    const isTrusted = ([key, hash]: [string, string]) =>
      key.startsWith(`${file}:`) && hash !== '' && !stale.some((hook) => hook.key === key);
    trusted = [...known].filter(isTrusted).length;
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const { line, column } = positionOf(text, error.offset);
    return bad('codex', `${config}:${line}:${column}: ${error.message}`, 'mend it');
  }
  return trusted >= hooks.length
    ? ok('codex', `its hooks are trusted in ${config}`)
    : bad(
        'codex',
        `${trusted} of ${hooks.length} hooks are trusted in ${config}: the others are skipped without a word`,
        'stopgate init codex, or /hooks in Codex',
      );
}
