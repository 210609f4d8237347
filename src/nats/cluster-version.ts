/**
 * Which nats-server versions a replicated log is safe on. In older ones, peers of a replicated stream could assign
 * different sequences after one of them was killed (nats-server pull requests 4365, 5939, 6486, 6943). Stopgate
 * replicas that read from different peers would then disagree permanently. A single node has no peers, so 2.9 is enough
 * there.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';

/** The oldest version tested with three nodes, and at the storage limit of an account. */
const tested = { major: 2, minor: 15 };

/** @param version as the server announces it, such as `2.15.2` @throws AppError stream.foreign */
export function refuseUntestedCluster(version: string, replicas: number): void {
  if (replicas <= 1) return;
  if (isTestedServer(version)) return;
  const why = `a log with ${replicas} replicas needs nats-server ${tested.major}.${tested.minor} or later on each node, and this one is ${version}`;
  const risk = 'in older versions, replicas of a log could number entries differently after a node was killed';
  throw new AppError('stream.foreign', `${why}: ${risk}. Update the nodes, or keep the log on one with --replicas 1`);
}

/** Number of replicas of a new log, unless configured. */
export const defaultReplicas = ({ info }: NatsConnection): number =>
  info?.cluster !== undefined && isTestedServer(info.version) ? 3 : 1;

export function isTestedServer(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(version) ?? [];
  return Number(major) > tested.major || (Number(major) === tested.major && Number(minor) >= tested.minor);
}
