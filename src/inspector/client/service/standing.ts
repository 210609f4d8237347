/** The health of the service in a few sentences. Pure. */
import type { LimitLine, ServiceReport } from '../../service-messages.ts';
import { dateTime, plural } from '../ui/format.ts';

/** A limit is near from this share on. The alert for a full fleet uses the same threshold. */
export const nearShare = 0.8;

export const shareOf = ({ used, max }: LimitLine): number | null => (used === null ? null : used / max);
export const isNear = (limit: LimitLine): boolean => (shareOf(limit) ?? 0) >= nearShare;

/** Everything that needs attention, the worst first. */
export function concernsOf({ outage, replicas, runners, limits, nats }: ServiceReport): string[] {
  const away = nats.connections.filter(({ isConnected }) => !isConnected);
  return [
    ...(outage === null ? [] : [`nothing has been judged here since ${dateTime(outage.sinceMs)}: ${outage.reason}`]),
    ...(outage === null && away.length > 0 ? ['NATS is away'] : []),
    ...replicas.filter(({ state }) => state === 'silent').map(({ name }) => `${name} is silent`),
    ...replicas.filter(({ state, isSelf }) => state === 'behind' && !isSelf).map(({ name }) => `${name} is behind`),
    ...runners.filter(({ isServed }) => isServed === false).map(({ name }) => `nobody serves the runner ${name}`),
    ...limits.filter(isNear).map(({ bound }) => `${bound}: near the limit`),
  ];
}

/**
 * Says how many replicas judge, and since when this one does. A replica stays a member of the fleet while it restarts,
 * so the time at which it joined says nothing of that.
 */
export function describeJudging({
  replicas,
  judgesSinceMs,
}: Pick<ServiceReport, 'replicas' | 'judgesSinceMs'>): string {
  const judging = replicas.filter(({ state }) => state === 'judging').length;
  const who = judging === 1 ? 'One replica judges' : `${plural(judging, 'replica')} judge`;
  return `${who}${judgesSinceMs === null ? '' : `; this one since ${dateTime(judgesSinceMs)}`}.`;
}
