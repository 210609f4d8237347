/** Faults during a run. Times and durations come from the seed; afterwards everything is repaired. */
import {
  acceptedMessageId,
  attemptMessageId,
  checkMessageId,
  decisionMessageId,
  retriedMessageId,
  timerMessageId,
} from '../../machines/index.ts';
import { createClient } from './client.ts';
import type { Random } from './random.ts';
import { damageNewest } from './snapshots.ts';
import { fleet, type Member, type World } from './world.ts';

type Fault = (world: World, random: Random) => void;

/** Faults by name, with relative frequency. */
const faults: Readonly<Record<string, readonly [weight: number, fault: Fault]>> = {
  crash: [6, (world, random) => crash(world, random, anyMember(world, random))],
  crashAll: [1, crashAll],
  stop: [2, (world, random) => stop(world, random, anyMember(world, random))],
  pause: [4, pauseReplica],
  cut: [4, cutReplica],
  reset: [2, (world, random) => world.network.reset(anyMember(world, random).process)],
  lag: [3, lagReplica],
  natsCrash: [3, (world, random) => restartServer(world, random, 'process')],
  natsPause: [2, pauseServer],
  powerLoss: [2, (world, random) => restartServer(world, random, 'power')],
  rewind: [1, (world, random) => restoreLog(world, random, Math.max(0, (world.log?.lastSeq ?? 0) - random.int(1, 20)))],
  diskFull: [2, fillDisk],
  deadFull: [2, fillDeadStream],
  delivery: [4, disturbDelivery],
  theft: [3, stealMessageIds],
  clock: [3, stepClock],
  badEntry: [3, sendBadEntry],
  twin: [2, startTwin],
  release: [4, changeRelease],
  snapshot: [3, askForSnapshot],
  damage: [1, damageSnapshot],
  leader: [4, changeLeader],
  renumber: [1, (world, random) => restartWith(world, random, () => world.renumber(random))],
  lostLog: [1, (world, random) => restoreLog(world, random, null)],
};
export const faultNames: readonly string[] = Object.keys(faults);

/** `count` faults at random times until `world.settings.busyMs`. */
export function scheduleFaults(world: World, count: number, names: readonly string[]): void {
  const random = world.random.fork('faults');
  const drawn = names.flatMap((name) => Array.from({ length: faults[name]?.[0] ?? 0 }, () => name));
  if (drawn.length === 0) return;
  for (let index = 0; index < count; index += 1) {
    const name = random.pick(drawn);
    world.scheduler.after(null, random.next() * world.settings.busyMs, () => {
      world.trace(`fault: ${name}`);
      faults[name]?.[1](world, random);
    });
  }
  world.scheduler.after(null, world.settings.busyMs, () => mend(world));
}

const anyMember = ({ members }: World, random: Random) => random.pick(members);

/** Repairs everything and stops further faults. */
function mend(world: World): void {
  const { scheduler, network, disk } = world;
  world.trace('all is mended');
  disk.full = 'no';
  disk.fullStreams.clear();
  if (world.server === null) world.startServer();
  else if (world.server.process.paused) scheduler.resume(world.server.process);
  for (const member of world.members) {
    if (member.process.paused) scheduler.resume(member.process);
    network.heal(member.process);
    setLatency(world, member, 0.2);
    if (member.down) world.start(member);
  }
}

const later = (world: World, ms: number, run: () => void) => void world.scheduler.after(null, ms, run);

function crash(world: World, random: Random, member: Member): void {
  if (member.down) return;
  world.crash(member);
  startLater(world, random, member);
}

/** Upgrades a replica or rolls it back, after a clean stop or a kill. */
function changeRelease(world: World, random: Random): void {
  const member = anyMember(world, random);
  member.release = member.release === 1 && random.chance(0.9) ? 2 : 1;
  world.trace(`${member.name} gets release ${member.release}`);
  if (random.chance(0.5)) stop(world, random, member);
  else crash(world, random, member);
}

/** Starts a replica twice under one name: at the same time, or while one runs. */
function startTwin(world: World, random: Random): void {
  const member = anyMember(world, random);
  const { toServer, toClient } = world.network.routesOf(member.process);
  if (toServer.cut || toClient.cut) return;
  if (!member.down && random.chance(0.5)) world.crash(member);
  const startsNow = member.down;
  if (startsNow) world.start(member);
  const isReady = () => member.replica?.service.status().ready === true;
  const isServing = isReady();
  // One that starts at the same moment serves later. One that was cut off, as by the end of nats-server, cannot answer.
  let wasHeard = startsNow || isServing;
  const listen = () => {
    wasHeard &&= isReachable(world, member) && (!isServing || isReady());
    if (wasHeard) world.scheduler.after(null, listenEveryMs, listen);
  };
  listen();
  world.startTwin(member, () => {
    if (wasHeard && isReachable(world, member) && isReady()) world.fail(`two replicas named ${member.name} serve`);
  });
}

const listenEveryMs = 20;
/** Whether it could reply to another replica of the same name at once. */
function isReachable({ network, server, scheduler }: World, { process }: Member): boolean {
  const routes = Object.values(network.routesOf(process));
  // Bytes sent while the link was slow are still in flight for a while.
  const isOpen = routes.every(({ cut, slowUntilMs }) => !cut && scheduler.nowMs > slowUntilMs);
  return isOpen && process.alive && !process.paused && server !== null && !server.process.paused;
}

function startLater(world: World, random: Random, member: Member): void {
  later(world, random.spread(20, 8_000), () => {
    if (member.down) world.start(member);
  });
}

function crashAll(world: World, random: Random): void {
  for (const member of world.members) {
    if (!member.down) world.crash(member);
    startLater(world, random, member);
  }
}

/** Stops a replica like SIGTERM; it is then restarted. */
function stop(world: World, random: Random, member: Member): void {
  const { replica, process } = member;
  if (replica === null) return;
  world.scheduler.after(process, 0, () => {
    void replica.close().then(() => {
      if (!process.alive || member.process !== process) return;
      world.crash(member);
      startLater(world, random, member);
    });
  });
}

function pauseReplica(world: World, random: Random): void {
  const { process, name } = anyMember(world, random);
  if (process.paused || !process.alive) return;
  world.scheduler.pause(process);
  later(world, random.spread(100, 20_000), () => {
    if (!process.paused) return;
    world.trace(`${name} continues`);
    world.scheduler.resume(process);
  });
}

function cutReplica(world: World, random: Random): void {
  const { process } = anyMember(world, random);
  const ways = random.pick([
    { toServer: true, toClient: true },
    { toServer: true, toClient: false },
    { toServer: false, toClient: true },
  ]);
  world.network.cut(process, ways);
  later(world, random.spread(100, 20_000), () => world.network.heal(process));
}

function setLatency({ network }: World, { process }: Member, ms: number): void {
  network.routesOf(process).toServer.latencyMs = ms;
  network.routesOf(process).toClient.latencyMs = ms;
}

const latencyMsMax = 1_500;

function lagReplica(world: World, random: Random): void {
  const member = anyMember(world, random);
  setLatency(world, member, random.spread(20, latencyMsMax));
  const forMs = random.spread(500, 8_000);
  for (const route of Object.values(world.network.routesOf(member.process)))
    route.slowUntilMs = world.scheduler.nowMs + forMs + latencyMsMax;
  later(world, forMs, () => setLatency(world, member, 0.2));
}

function restartServer(world: World, random: Random, how: 'process' | 'power'): void {
  if (world.server === null) return;
  world.stopServer(how);
  later(world, random.spread(50, 6_000), () => {
    if (world.server === null) world.startServer();
  });
}

/** Rolls the log back to `seq`, or deletes it, but keeps the snapshots. */
const restoreLog = (world: World, random: Random, seq: number | null): void =>
  restartWith(world, random, () => world.rewind(seq));

/** The server has a different store after its restart. */
function restartWith(world: World, random: Random, change: () => void): void {
  if (world.server === null) return;
  world.stopServer('process');
  change();
  later(world, random.spread(50, 3_000), () => {
    if (world.server === null) world.startServer();
  });
}

/** In a cluster: changes the leader of the log, of any stream, or of all. Consumers on a lost node are lost. */
function changeLeader({ server, disk, log, trace, settings }: World, random: Random): void {
  if (server === null || log === undefined || !settings.isCluster) return;
  const streams = [...disk.streams.values()];
  const chosen = random.pick([[log], [log], [random.pick(streams)], streams]);
  for (const stream of chosen) {
    trace(`${stream.config.name} gets another leader`);
    server.cluster.changeLeader(stream, { cutOffMs: random.spread(10, 9_000), noneMs: random.spread(20, 5_000) });
  }
  for (const consumer of [...server.jetStream.consumers.values()])
    if (chosen.includes(consumer.stream) && random.chance(0.5)) consumer.close();
}

function pauseServer(world: World, random: Random): void {
  const process = world.server?.process;
  if (process === undefined || process.paused) return;
  world.scheduler.pause(process);
  later(world, random.spread(100, 12_000), () => world.scheduler.resume(process));
}

function fillDisk(world: World, random: Random): void {
  world.disk.full = random.pick(['refuses', 'silent']);
  later(world, random.spread(200, 10_000), () => {
    world.disk.full = 'no';
  });
}

/** The dead-letter stream stores nothing while entries are refused, a snapshot is taken and replicas stop. */
function fillDeadStream(world: World, random: Random): void {
  const name = `STOPGATE-DEAD_${fleet}`;
  const forMs = random.spread(500, 10_000);
  world.disk.fullStreams.add(name);
  later(world, forMs, () => world.disk.fullStreams.delete(name));
  const badMs = random.next() * forMs * 0.3;
  later(world, badMs, () => sendBadEntry(world, random));
  later(world, random.next() * forMs * 0.6, () => askForSnapshot(world));
  if (random.chance(0.5)) later(world, badMs + random.spread(2, forMs), () => crashAll(world, random));
}

function disturbDelivery(world: World, random: Random): void {
  for (const consumer of world.server?.jetStream.consumers.values() ?? [])
    if (random.chance(0.6)) consumer.disturb(random.pick(['skip', 'repeat']));
}

function stepClock(world: World, random: Random): void {
  const process = random.chance(0.5) ? anyMember(world, random).process : world.server?.process;
  const byMs = random.chance(0.4) ? random.int(10_000, 60_000) : random.spread(10, 5_000);
  if (process === undefined) return;
  process.clockOffsetMs = random.pick([-1, 1]) * byMs;
  if (process === world.server?.process) world.serverClockStepMs = Math.max(world.serverClockStepMs, byMs);
}

/** An agent uses message ids that the service is about to use. */
function stealMessageIds(world: World, random: Random): void {
  const thief = createClient(world, 'thief');
  for (let index = 0; index < 6; index += 1) {
    const worker = `w${random.int(1, world.settings.workers)}`;
    const attempt = `a${random.int(1, 4)}`;
    const id = random.pick([
      decisionMessageId(worker, attempt),
      checkMessageId(worker, attempt, 1, 'test'),
      checkMessageId(worker, attempt, 1, 'judge'),
      acceptedMessageId(worker, attempt, random.pick(world.members).name),
      attemptMessageId(worker, attempt),
      retriedMessageId(
        timerMessageId({
          id: worker,
          kind: 'attempt',
          attempt,
          atMs: Math.floor(world.scheduler.nowMs) + random.int(1, 3_000),
        }),
        '1',
      ),
    ]);
    const [type, payload] = random.pick([
      ['heartbeat.sent', '{}'],
      ['stop.attempted', `{"attempt":"x${random.int(1, 1e6)}"}`],
    ] as const);
    thief.publish(`stopgate.${fleet}.worker.thief.${type}`, payload, { 'Nats-Msg-Id': id });
  }
}

function askForSnapshot(world: World): void {
  void createClient(world, 'operator').request(`stopgate.${fleet}.snapshot.${fleet}`, '', { timeoutMs: 5_000 });
}

/** At most once per run: only the second newest snapshot is guaranteed to cover trimmed entries. */
function damageSnapshot(world: World, random: Random): void {
  if (world.damaged.size === 0) damageNewest(world, random);
}

function sendBadEntry(world: World, random: Random): void {
  const vandal = createClient(world, 'vandal');
  const [tail, payload] = random.pick([
    ['worker.w1.stop.attempted', '{'],
    ['worker.w2.no.such', '{}'],
    ['worker.w1.tool.used', '{"tool":1}'],
    ['task.t1.task.created', JSON.stringify({ title: 'x'.repeat(70_000) })],
    ['queue.main.depth.reported', `{"pending":${random.int(0, 2)}}`],
    ['worker.w1.stop.attempted', '{"attempt":"a b"}'],
  ] as const);
  vandal.publish(`stopgate.${fleet}.${tail}`, payload);
}
