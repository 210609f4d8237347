/** Our hooks in a settings file: do they call this service, for every event, with all that the call needs? */
import { existsSync } from 'node:fs';
import type { AgentHooks } from '../setup/agent-hooks.ts';
import type { FoundHook } from '../setup/hook-settings.ts';
import { type Poster, posters } from '../setup/line.ts';
import type { Places } from '../setup/places.ts';
import { type Answer, bad, ok, warn } from './check.ts';
import type { CheckContext } from './doctor.ts';
import { type Hooked, initCommand } from './hooked.ts';
import { isUnknownPolicy } from './worker-checks.ts';

/** Returns the line that the hook runs, or the address to which it posts. */
export const lineOf = ({ value }: FoundHook): string => String(value.url ?? value.command ?? value.bash ?? '');

/** As `init` writes it. */
export const isPostLine = (program: Poster, { command, bash }: FoundHook['value']): boolean =>
  [command, bash].some((text) => typeof text === 'string' && new RegExp(`^(?:LC_ALL=C )?${program} `).test(text));

export function checkAddress(agent: string, hooked: Hooked, url: string): Answer {
  const { scope, file, hooks } = hooked;
  const host = url.replace(/^https?:\/\//, '');
  const option = new RegExp(`--http[ =]\\S*${host.replaceAll('.', '\\.')}(?:'|\\s|$)`);
  const stray = hooks.find((hook) => {
    const line = lineOf(hook);
    // A line without an address, written by hand, finds the service as we have found it.
    if (/\bhook\b/.test(line) && !/--http[ =]|https?:\/\//.test(line)) return false;
    return !line.includes(`//${host}/`) && !option.test(line);
  });
  if (stray === undefined) return ok(`${file} has our hooks, and they point to ${url}`);
  const fix = `${initCommand(agent, hooked)} --http ${host}`;
  return bad(
    `${file}: the hook of ${stray.event} does not point to ${url}`,
    scope === 'plugin' ? `uninstall the plugin, and: ${fix}` : fix,
  );
}

/** `stopEvent`: the event without whose hook no stop is judged. */
export function checkEvents({ agent, events }: AgentHooks, stopEvent: string, hooked: Hooked): Answer[] {
  const { file, hooks } = hooked;
  const form = hooks.some(({ value }) => value.type === 'http') ? 'http' : 'command';
  const present = new Set(hooks.map(({ event }) => event));
  const missing = events(form)
    .map(({ name }) => name)
    .filter((name) => !present.has(name));
  if (missing.length === 0) return [];
  const text = `${file} has no hook for ${missing.join(', ')}`;
  const fix = initCommand(agent, hooked);
  return [
    missing.includes(stopEvent)
      ? bad(`${text}: no stop is ever judged`, fix)
      : warn(`${text}: some of what the agent does stays unknown`, fix),
  ];
}

/** Checks what the line itself needs. */
export function checkLines(agent: string, stopEvent: string, hooked: Hooked): Answer[] {
  const { file, hooks } = hooked;
  const init = initCommand(agent, hooked);
  const missing = hooks.map((hook) => findScript(lineOf(hook))).find((path) => path !== undefined && !existsSync(path));
  const isSilent = hooks.some(({ event, value }) => event === stopEvent && value.type === 'http');
  const program = `${file} runs ${missing}, which does not exist`;
  const silence = 'its hooks use HTTP: while the service is down every stop is allowed, without a notice';
  return [
    ...(missing === undefined ? [] : [bad(program, init)]),
    ...(isSilent ? [warn(silence, `if that is not enough: ${init} --on-unreachable block`)] : []),
  ];
}

/** Our script that the line runs: a path, which is quoted if it has a space. */
function findScript(line: string): string | undefined {
  const script = String.raw`hook(?:-command)?/(?:main\.js|post\.pl)`;
  const [, quoted, bare] = new RegExp(String.raw`'(/(?:[^']|'\\'')*${script})'|(/\S*${script})`).exec(line) ?? [];
  return quoted?.replaceAll(`'\\''`, "'") ?? bare;
}

/** `lines`: what calls the service, which may name a policy for it. */
export function checkPolicyNames(
  agent: string,
  { scope, file }: Pick<Hooked, 'scope' | 'file'>,
  lines: readonly string[],
  policies: CheckContext['policies'],
): Answer[] {
  const named = lines.flatMap((line) => /(?:[?&]policy=|--policy[ =])([\w-]+)/.exec(line)?.[1] ?? []);
  return [...new Set(named)]
    .filter((name) => isUnknownPolicy(name, policies))
    .map((name) => {
      const text = `${file} names the policy ${name}, and there is none of that name: default holds instead`;
      return warn(text, `add it to stopgate.yaml, or: ${initCommand(agent, { scope })} with another --policy, or none`);
    });
}

/** Is it a post without a token? The hook command takes that from its environment. */
function isBare(hook: FoundHook): boolean {
  const { value } = hook;
  if (value.type === 'http') return value.headers === undefined;
  const poster = posters.find((program) => isPostLine(program, value));
  if (poster === undefined) return false;
  const sent = poster === 'perl' ? /post\.pl'? +\S+ +\S+ +[A-Za-z_]/ : /authorization|bearer/i;
  return !sent.test(lineOf(hook));
}

/** For a service that wants a token. */
export function checkToken(agent: string, hooked: Hooked, { env }: Places): Answer[] {
  const { file, hooks } = hooked;
  const bare = hooks.find(isBare);
  if (bare !== undefined) {
    const text = `${file}: the service wants a token, and the hook of ${bare.event} sends none`;
    return [bad(text, `${initCommand(agent, hooked)} --token-env STOPGATE_TOKEN`)];
  }
  if (env.STOPGATE_TOKEN) return [];
  const text = 'the service wants a token, and STOPGATE_TOKEN is not set here';
  return [warn(text, 'set it where the agent is started')];
}
