/** What an agent waits for, and how often it lets itself be blocked, against what the policies ask of it. */
import { checkTimeoutMs, formatDuration, type Policy } from '../../../machines/index.ts';
import type { Places, SetupName } from '../setup/agents.ts';
import { capVariable } from '../setup/block-cap.ts';
import type { Hooked } from './agent-checks.ts';
import { type Finding, ok, warn } from './finding.ts';

/** The command and its curl give up a little before their agent would. */
const commandMarginMs = 5_000;

/** How long a stop may take by the policies, against how long the agent waits for its hook. */
export function checkTimes(name: SetupName, { file, hooks }: Hooked, policies: ReadonlyMap<string, Policy>): Finding[] {
  const stop = hooks.find(
    ({ event, value }) => ['Stop', 'AfterAgent', 'agentStop'].includes(event) && value.async !== true,
  );
  const timeout = stop?.value.timeout ?? stop?.value.timeoutSec;
  if (typeof timeout !== 'number') return [];
  const hookMs = name === 'gemini' ? timeout : timeout * 1_000;
  const slow = [...policies]
    .map(([policy, rules]) => [policy, longestMs(rules)] as const)
    .filter(([, ms]) => ms > hookMs);
  return [
    ...slow.map(([policy, ms]) =>
      warn(
        name,
        `policy ${policy} may take ${formatDuration(ms)} for a stop, and ${file} waits ${formatDuration(hookMs)}: then it is allowed unjudged`,
        'shorten hold or the timeouts of its checks, or make the timeout of the hook longer',
      ),
    ),
    ...checkLooks(name, hooks, policies),
  ];
}

/** `stopWhenComplete` asks after tools, for which no agent should wait long. */
function checkLooks(name: SetupName, hooks: Hooked['hooks'], policies: ReadonlyMap<string, Policy>): Finding[] {
  const hook = hooks.find(({ event }) => event === (name === 'gemini' ? 'AfterTool' : 'PostToolBatch'));
  const timeout = hook?.value.timeout;
  if (typeof timeout !== 'number') return [];
  const hookMs = name === 'gemini' ? timeout : timeout * 1_000;
  const waitMs = hook?.value.type === 'http' ? hookMs : hookMs - commandMarginMs;
  return [...policies]
    .filter(([, rules]) => rules.stopWhenComplete && checksMs(rules) > waitMs)
    .map(([policy, rules]) =>
      warn(
        name,
        `policy ${policy} has stopWhenComplete, and its checks may take ${formatDuration(checksMs(rules))}: after a tool they are waited for ${formatDuration(waitMs)}, and what takes longer tells nothing`,
        'keep its checks short by their timeouts, or take stopWhenComplete out',
      ),
    );
}

/** One check after the other. */
const checksMs = ({ checks }: Policy): number =>
  checks.reduce(
    (sum, { kind, timeoutMs }) => sum + (kind === 'plan' || kind === 'rules' ? 0 : (timeoutMs ?? checkTimeoutMs)),
    0,
  );
const longestMs = (policy: Policy): number => checksMs(policy) + (policy.persistence?.holdMs ?? 0);

/** Blocks in a row after which an agent stops whatever it is told. */
const caps: Readonly<Partial<Record<SetupName, number>>> = { claude: 8, copilot: 8, cursor: 5 };

export function checkCap(
  name: SetupName,
  hooked: readonly Hooked[],
  policies: ReadonlyMap<string, Policy>,
  { env }: Places,
): Finding[] {
  const set = name === 'claude' ? capIn(hooked, env) : name === 'cursor' ? loopLimitIn(hooked) : undefined;
  const cap = set ?? caps[name];
  if (cap === undefined) return [];
  if (cap === Number.POSITIVE_INFINITY) return [ok(name, 'its own cap of blocks in a row is off')];
  const beyond = [...policies]
    .filter(([, { retries }]) => (retries ?? Number.POSITIVE_INFINITY) > cap)
    .map(([policy]) => policy);
  if (beyond.length === 0)
    return [ok(name, `its own cap of ${cap} blocks in a row is not below the retries of any policy`)];
  const raise = {
    claude: 'stopgate init claude --block-cap N (0: no cap), or ',
    cursor: '"loop_limit" of the hook in its settings, or ',
  };
  return [
    warn(
      name,
      `it gives up after ${cap} blocks in a row, before the retries of ${beyond.join(', ')} are used up`,
      `${(raise as Record<string, string>)[name] ?? ''}retries of ${cap} at most`,
    ),
  ];
}

function capIn(hooked: readonly Hooked[], env: Places['env']): number | undefined {
  const shape = new RegExp(`"${capVariable}"\\s*:\\s*"?(\\d+)`);
  const set = hooked.map(({ text }) => shape.exec(text)?.[1]).find(Boolean) ?? env[capVariable];
  return set === undefined || set === '' ? undefined : Number(set) || Number.POSITIVE_INFINITY;
}

/** Null there: no limit. */
function loopLimitIn(hooked: readonly Hooked[]): number | undefined {
  const limit = hooked.flatMap(({ hooks }) => hooks).find(({ event }) => event === 'stop')?.value.loop_limit;
  return limit === null ? Number.POSITIVE_INFINITY : typeof limit === 'number' ? limit : undefined;
}
