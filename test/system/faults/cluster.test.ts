/** The row of three nodes, on a nats-server that may be one of them. */
import { expect, test } from 'vitest';
import { runCluster } from './cluster.ts';

test('three nodes, the leader and a follower killed: nothing is lost', async ({ skip }) => {
  const row = await runCluster(false);
  if (typeof row === 'string') skip(row);
  expect(row).toMatchObject({ lost: 0, double: 0, undecided: 0 });
});
