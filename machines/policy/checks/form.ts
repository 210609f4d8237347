/** Reads checks from the form in a policy to the normal form. */
import { z } from 'zod';
import { idLengthMax } from '../../values/id.ts';
import { durationSchema, idSchema, type ObjectMaker } from '../../values/schemas.ts';
import { conditionSchema } from '../condition.ts';
import type { Check, CheckForm, CheckKind, CheckSettings, Kind } from './check.ts';
import { checkKinds } from './kinds.ts';

const kinds = Object.keys(checkKinds) as Kind[];

export function createCheckForm(object: ObjectMaker): z.ZodType<CheckForm> {
  const form: z.ZodType<CheckForm> = z.lazy(() =>
    object({
      ...Object.fromEntries(kinds.map((kind) => [kind, checkKinds[kind].form(object, form)])),
      name: idSchema.optional(),
      when: conditionSchema(object).optional(),
      onFail: z.enum(['block', 'warn']).optional().describe('warn: a failure does not block, but is reported'),
      onError: z.enum(['allow', 'block', 'escalate']).optional(),
      timeout: durationSchema.optional(),
    }).superRefine(refineCheck as never),
  ) as never;
  return form;
}

function refineCheck(check: CheckForm, context: z.RefinementCtx): void {
  const given = kinds.filter((kind) => check[kind] !== undefined);
  if (given.length !== 1) {
    const got = given.length === 0 ? 'none' : given.join(' and ');
    context.addIssue({ code: 'custom', message: `a check is one of ${kinds.join(', ')}; this has ${got}` });
  } else if (nestingDepth(check, (nested) => nested.all ?? nested.any) > nestingMax) {
    context.addIssue({ code: 'custom', message: `all and any may nest ${nestingMax} deep` });
  }
}

type Inherited = Pick<CheckSettings, 'onError' | 'timeoutMs'>;

/** Normalises all checks of a policy, and makes their names unique. */
export function normalizeChecks(forms: readonly CheckForm[]): Check[] {
  const taken: Names = new Map();
  return forms.map((form) => normalizeCheck(form, taken, { onError: 'allow', timeoutMs: null }));
}

function normalizeCheck(form: CheckForm, taken: Names, group: Inherited): Check {
  const kind = kinds.find((name) => form[name] !== undefined) as Kind;
  const { normalize, defaultName } = checkKinds[kind] as CheckKind<Kind>;
  const value = form[kind] as NonNullable<CheckForm[Kind]>;
  const base = form.name ?? defaultName?.(value) ?? kind;
  const settings: CheckSettings = {
    name: freeName(base, taken),
    base,
    when: form.when ?? null,
    onFail: form.onFail ?? 'block',
    onError: form.onError ?? (form.onFail === 'warn' ? 'warn' : group.onError),
    timeoutMs: form.timeout ?? group.timeoutMs,
  };
  // A group that only warns gives one warning itself, so its members' errors must remain errors.
  const inherited = settings.onError === 'warn' ? { ...settings, onError: 'allow' as const } : settings;
  return { ...settings, ...normalize(value, (member) => normalizeCheck(member, taken, inherited)) };
}

/** Joins the checks of several policies into one list, and makes their names unique as within a policy. */
export function joinChecks(lists: readonly (readonly Check[])[]): Check[] {
  const taken: Names = new Map();
  const rename = (check: Check): Check => {
    const name = freeName(check.base, taken);
    return 'of' in check ? { ...check, name, of: check.of.map(rename) } : { ...check, name };
  };
  return lists.flat().map(rename);
}

/** The checks without the groups around them, depth first. */
export const leavesOf = (checks: readonly Check[]): Check[] =>
  checks.flatMap((check) => ('of' in check ? leavesOf(check.of) : [check]));

/** Taken names, each with the last suffix tried. */
type Names = Map<string, number>;

/** Returns a free name: the second check with a name, in depth-first order, becomes `<name>-2`, and so on. */
function freeName(name: string, taken: Names): string {
  let free = name;
  let count = taken.get(name) ?? 1;
  while (taken.has(free)) {
    count += 1;
    const suffix = `-${count}`;
    free = name.slice(0, idLengthMax - suffix.length) + suffix;
  }
  taken.set(name, count);
  if (free !== name) taken.set(free, 1);
  return free;
}

/** Maximum nesting of groups of checks or hooks. */
export const nestingMax = 4;

/** Returns how deep groups nest in a check or hook; 0 if it is not a group. */
export function nestingDepth<Node>(node: Node, membersOf: (node: Node) => readonly Node[] | undefined): number {
  const members = membersOf(node);
  return members === undefined ? 0 : 1 + Math.max(...members.map((member) => nestingDepth(member, membersOf)));
}
