/** Runs the cluster faults if this nats-server version supports them. */
import { expect, test } from 'vitest';
import { runCluster } from './cluster.ts';

test('three nodes: killing the leader and a follower loses nothing', async ({ skip }) => {
  const row = await runCluster(false);
  if (typeof row === 'string') skip(row);
  expect(row).toMatchObject({ lost: 0, double: 0, undecided: 0 });
});
