/**
 * Which NATS servers a replicated log is safe on. Before, peers of a replicated stream could number messages differently
 * after one of them was killed (nats-server pull requests 4365, 5939, 6486, 6943), and replicas of stopgate that read
 * from different peers would disagree for good. One node has no peers: there 2.9 is enough.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';

/** The oldest that was tested with three nodes, and at the limit of an account. */
const tested = { major: 2, minor: 15 };

/** @param version as the server announces it, such as `2.15.2` @throws AppError stream.foreign */
export function refuseUntestedCluster(version: string, replicas: number): void {
  if (replicas <= 1) return;
  if (isTestedServer(version)) return;
  const why = `a log with ${replicas} replicas needs nats-server ${tested.major}.${tested.minor} or later on each node, and this one is ${version}`;
  const before = 'in older versions, copies of a log could number entries differently after a node was killed';
  throw new AppError('stream.foreign', `${why}: ${before}. Update the nodes, or keep the log on one with --replicas 1`);
}

/** The copies of a new log where nobody says how many. */
export const defaultReplicas = ({ info }: NatsConnection): number =>
  info?.cluster !== undefined && isTestedServer(info.version) ? 3 : 1;

export function isTestedServer(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(version) ?? [];
  return Number(major) > tested.major || (Number(major) === tested.major && Number(minor) >= tested.minor);
}
