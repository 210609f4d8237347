/**
 * Will a session of Claude Code have the tools by which it keeps a plan? Only older models have them by default; a
 * variable switches them on for all. Without them a worker has no plan. Seen with 2.1.330, by asking it for its tools
 * under each setting (test/system/agents/claude-plan-tools.test.ts).
 */
import { join } from 'node:path';
import { getNodeValue } from 'jsonc-parser';
import { z } from 'zod';
import { parseJson } from '../setup/json-edit.ts';
import type { Places } from '../setup/places.ts';
import { readText } from '../setup/settings-file.ts';
import type { PlanTools } from '../setup/setup.ts';

// Variables of Claude Code that `init` sets in its settings.

/** Its own cap of blocks in a row. */
export const blockCap = { name: 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP', mark: 'STOPGATE_BLOCK_CAP' } as const;
/** The tools by which it keeps a plan. */
export const planTools = { name: 'CLAUDE_CODE_ENABLE_TODO_TOOLS', mark: 'STOPGATE_PLAN_TOOLS' } as const;

/** Later models have the plan tools only if the variable says so. Names of providers and dates may surround them. */
const modelsWithPlan = /claude-(?:3-|(?:opus|sonnet|haiku)-4-(?:[567]|20\d{6})(?!\d))/i;
/** As Claude Code reads a switch. */
const onPattern = /^(?:1|true|yes|on)$/i;

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const settingsSchema = z.object({
  model: z.string().optional().catch(undefined),
  env: z.record(z.string(), text.optional().catch(undefined)).optional().catch(undefined),
});

/** A value, and where it was found. */
type Found = { readonly value: string; readonly where: string };

/** Reads the user's, the project's and the local settings, and the environment. `folder`: of the user's settings. */
export function readPlanTools({ cwd, env }: Places, folder: string): PlanTools {
  const files = [
    join(cwd, '.claude', 'settings.local.json'),
    join(cwd, '.claude', 'settings.json'),
    join(folder, 'settings.json'),
  ].map((file) => ({ file, settings: readSettings(file) }));
  const variable = (name: string): Found | null =>
    // Settings go before the environment.
    first(files.map(({ file, settings }) => found(settings.env?.[name], file))) ?? found(env[name], 'the environment');
  const { name } = planTools;
  const wanted = variable(name);
  if (wanted !== null && onPattern.test(wanted.value))
    return { state: 'on', variable: name, why: `${name}=${wanted.value} in ${wanted.where}` };
  const model =
    variable('ANTHROPIC_MODEL') ?? first(files.map(({ file, settings }) => found(settings.model, file))) ?? null;
  const resolved = model === null ? null : resolveAlias(model, variable);
  const why = model === null || resolved === null ? 'the default model' : `model ${resolved} by ${model.where}`;
  if (resolved !== null && modelsWithPlan.test(resolved)) return { state: 'on', variable: name, why };
  if (wanted === null) return { state: 'off', variable: name, why };
  return { state: 'refused', variable: name, why: `${why}, and ${name}=${wanted.value} in ${wanted.where}` };
}

/** `opus` is the newest of its kind, unless a variable names another. */
function resolveAlias({ value }: Found, variable: (name: string) => Found | null): string {
  const alias = /^(opus|sonnet|haiku)(?:\[\w+\])?$/i.exec(value)?.[1];
  const named = alias === undefined ? null : variable(`ANTHROPIC_DEFAULT_${alias.toUpperCase()}_MODEL`);
  return named?.value ?? value;
}

const first = (all: readonly (Found | null)[]): Found | null => all.find((one) => one !== null) ?? null;
const found = (value: string | undefined, where: string): Found | null =>
  value === undefined || value === '' ? null : { value, where };

/** Reads settings. A file that cannot be read says nothing: `init` and `doctor` report it by themselves. */
function readSettings(file: string): z.output<typeof settingsSchema> {
  try {
    const json = (readText(file) ?? '{}').replace(/^\uFEFF/, '');
    return settingsSchema.safeParse(getNodeValue(parseJson(json))).data ?? {};
  } catch {
    return {};
  }
}
