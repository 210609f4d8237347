/** Schemas of policies in normal form, for snapshots. A missing key is a compile error. */
import { z } from 'zod';
import type { ShapeOf } from '../values/fields.ts';
import { looseObject } from '../values/schemas.ts';
import { flag, lazy, number, numberOrNull, object, text, textOrNull, texts } from '../values/shapes.ts';
import type { CheckOf, CheckSettings, Kind } from './checks/check.ts';
import { conditionSchema } from './condition.ts';
import type { Policy } from './policy.ts';
import type { PolicySet } from './policy-set.ts';

const checks: z.ZodType = lazy(() => z.array(checkShape));

export const checkShape: z.ZodType = lazy(() => {
  const settings = {
    name: text,
    base: text,
    when: conditionSchema(looseObject).nullable(),
    onFail: text,
    onError: text,
    timeoutMs: numberOrNull,
  } satisfies ShapeOf<CheckSettings>;
  const fields: { readonly [K in Kind]: ShapeOf<Omit<CheckOf<K>, keyof CheckSettings | 'kind'>> } = {
    plan: { required: flag },
    rules: { rules: texts },
    files: { files: texts },
    ran: { commands: texts, since: z.enum(['change', 'prompt', 'claim']) },
    git: { clean: flag, pushed: flag, unchanged: texts, since: textOrNull },
    command: { command: text },
    remote: { remote: text },
    all: { of: checks },
    any: { of: checks },
  };
  return z.union(Object.entries(fields).map(([kind, own]) => object({ ...settings, kind: z.literal(kind), ...own })));
});

export const policyShape = lazy(() =>
  object({
    retries: numberOrNull,
    onCap: text,
    stuckAfter: object({ times: number, mask: flag }).nullable(),
    promises: flag,
    keepAlives: numberOrNull,
    onBudget: text,
    bypass: texts,
    askMs: numberOrNull,
    persistence: object({ idleMs: numberOrNull, named: flag, holdMs: number, queue: textOrNull }).nullable(),
    background: object({ maxMs: numberOrNull, ignore: texts, onStop: z.enum(['allow', 'block']).nullable() }),
    pause: z.enum(['allow', 'deny']),
    budget: object({
      tokens: numberOrNull,
      usd: numberOrNull,
      turns: numberOrNull,
      timeMs: numberOrNull,
      per: z.enum(['session', 'prompt', 'task']),
    }).nullable(),
    toolTimeMs: number,
    onStale: text,
    stopWhenComplete: flag,
    steps: text,
    failures: text,
    checks,
    runner: textOrNull,
    runners: texts,
  } satisfies ShapeOf<Policy>),
);

export const policySetShape = lazy(() =>
  object({
    policies: z.array(z.tuple([text, policyShape])),
    assign: z.array(
      object({
        policy: text,
        agent: text.optional(),
        worker: text.optional(),
        labels: z.record(text, text).optional(),
      }),
    ),
    budget: object({ tokens: number.nullish(), usd: number.nullish() }).nullable(),
    releaseAfterMs: numberOrNull,
    forgetMs: numberOrNull,
    waitingMs: numberOrNull,
    unattendedMs: numberOrNull,
  } satisfies ShapeOf<PolicySet>),
);
