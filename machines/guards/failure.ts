/** The failure for which `checks` or `hooks` is about to block: what `retries` and `stuck` look at. */
import { constantPass, type GuardResult, type GuardScope } from './guard.ts';

export const nothingFailed = constantPass('nothing failed');

type Deciding = Extract<GuardResult, { kind: 'decides' }>;

/** The result of `checks` or `hooks` that blocks; null: neither does. */
export function failureOf(scope: GuardScope): Deciding | null {
  for (const guard of ['checks', 'hooks'] as const) {
    const result = scope.resultOf(guard);
    if (result.kind === 'decides') return result.ruling.decision === 'block' ? result : null;
    if (result.kind !== 'pass') return null;
  }
  return null;
}

/** Why a guard decides, in parts that are not cut. */
export const reasonsOf = ({ reasons, ruling }: Deciding): readonly string[] => reasons ?? [ruling.reason];
