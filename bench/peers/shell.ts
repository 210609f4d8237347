/** A shell hook with files: each call of the agent starts a shell that locks and rewrites the worker's file. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from '../child.ts';
import { childCpuMs } from '../process-cpu.ts';
import { attempt, toolEvent } from './nats-peers.ts';
import { type Peer, type PeerContext, PeerMissing } from './peer.ts';

/** $1 is the worker's file. The input comes on stdin. */
const report = `exec 9>>"$1.lock"; flock 9; cat >>"$1.log"; echo >>"$1.log"`;
const stop = `exec 9>>"$1.lock"; flock 9
n=0; [ -f "$1" ] && read -r n <"$1"; n=$((n + 1))
cat >>"$1.log"
answer='{"decision":"allow","cause":"complete","attempt":'$n'}'
printf '\\n%s\\n' "$answer" >>"$1.log"
echo "$n" >"$1.new" && mv "$1.new" "$1"
echo "$answer"`;

/** @throws PeerMissing */
export async function openShell({ folder }: PeerContext): Promise<Peer> {
  if (spawnSync('flock', ['--version']).status !== 0)
    throw new PeerMissing('the shell hook needs flock (util-linux), which is not here');
  const home = join(folder, 'shell');
  mkdirSync(home, { recursive: true });
  const call = (script: string, worker: string, stdin: string) =>
    runToEnd(['/bin/sh', '-c', script, 'sh', join(home, worker)], { stdin });
  return {
    name: 'shell hook with files',
    durability: 'files, no fsync',
    report: (worker) => call(report, worker, toolEvent),
    stop: (worker) => call(stop, worker, attempt),
    cpuUs: () => ({ service: (childCpuMs() ?? Number.NaN) * 1_000, store: 0 }),
  };
}
