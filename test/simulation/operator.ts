/** The person who looks after the replicas: starts them again, and says what to do where a log is lost. */
import type { Replica } from '../../src/app/replica.ts';
import type { Release } from './releases.ts';
import { isCovered } from './snapshots.ts';
import type { Member, World } from './world.ts';

const operatorEveryMs = 3_000;

/**
 * An operator restarts a replica that has lost its log. For one that went back, or was cut past what that replica had
 * folded, this is enough; where it cannot start, what is there is accepted (protocol.md §2).
 */
export function operate(world: World): void {
  const { scheduler, members } = world;
  const look = () => {
    for (const member of members) {
      if (member.process.paused) continue;
      const code = member.replica?.service.status().code;
      if (code === 'rules.unknown') upgrade(world, member, member.running);
      else if (member.lastError?.startsWith('rules.unknown')) upgrade(world, member, member.failed);
      else if (code === 'log.lost' && member.replica !== null) restartLost(world, member, member.replica);
      // A restart is enough then, and whoever started it restarts it anyway.
      else if (member.lastError?.includes('Nothing is lost')) continue;
      else if (member.lastError?.startsWith('log.lost')) acceptLog(world, member);
    }
    scheduler.after(null, operatorEveryMs, look);
  };
  scheduler.after(null, operatorEveryMs, look);
}

/** It says that it is too old for the log. `release`: of the one that says so. */
function upgrade(world: World, member: Member, release: Release): void {
  if (release === 2) world.fail(`${member.name} says that it does not know the rules, and it does`);
  world.trace(`the operator upgrades ${member.name}`);
  member.release = 2;
  if (member.replica !== null) restart(world, member);
}

function restartLost(world: World, member: Member, { fleet }: Replica): void {
  world.trace(`the operator restarts ${member.name}`);
  const isBehindCut = fleet.seq < (world.log?.firstSeq ?? 1);
  if (world.ledger.lost.length === 0 && !isBehindCut)
    world.fail(`${member.name} says that its log is lost, and it is not`);
  restart(world, member);
}

function acceptLog(world: World, member: Member): void {
  const { ledger, log } = world;
  // Snapshots that cover its beginning may all be damaged.
  const isWhole = log !== undefined && isCovered(world, log);
  if (ledger.lost.length === 0 && isWhole) world.fail(`${member.name} says that its log is lost, and it is not`);
  world.trace(`the operator accepts the log for ${member.name}`);
  if (log !== undefined && !isWhole) ledger.onLost(log.cut.splice(0));
  if (member.acceptEmptyLog) return;
  member.acceptEmptyLog = true;
  // It may be at its next start already, and wait for a lost log as for one that lags.
  if (member.process.alive) restart(world, member);
}

function restart(world: World, member: Member): void {
  world.crash(member);
  world.start(member);
}
