/** A simulated operator, who restarts replicas and handles a lost log. */
import type { Replica } from '../../src/app/replica.ts';
import type { Release } from './releases.ts';
import { isCovered } from './snapshots.ts';
import type { Member, World } from './world.ts';

const operatorEveryMs = 3_000;

/**
 * Restarts a replica whose log is lost. That is enough if the log went back, or was trimmed beyond the replica's fold.
 * If the replica cannot start, the current log is accepted (protocol.md §2).
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
      // A restart is enough, and it is restarted anyway.
      else if (member.lastError?.includes('Nothing is lost')) continue;
      else if (member.lastError?.startsWith('log.lost')) acceptLog(world, member);
    }
    scheduler.after(null, operatorEveryMs, look);
  };
  scheduler.after(null, operatorEveryMs, look);
}

/** A replica reports that it is too old for the log. `release`: its release. */
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
  // All snapshots that cover the beginning may be damaged.
  const isWhole = log !== undefined && isCovered(world, log);
  if (ledger.lost.length === 0 && isWhole) world.fail(`${member.name} says that its log is lost, and it is not`);
  world.trace(`the operator accepts the log for ${member.name}`);
  if (log !== undefined && !isWhole) ledger.onLost(log.cut.splice(0));
  if (member.acceptEmptyLog) return;
  member.acceptEmptyLog = true;
  // It may already be starting again and wait for a lost log like for a lagging one.
  if (member.process.alive) restart(world, member);
}

function restart(world: World, member: Member): void {
  world.crash(member);
  world.start(member);
}
