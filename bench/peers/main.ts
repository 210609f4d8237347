/**
 * `npm run bench:peers`: an agent reports a tool event, requests a stop and gets a decision, with a durable record of
 * the attempt and the decision. Compares stopgate with alternatives, in turn and in rounds.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { formatFigures, quantile } from '../figures.ts';
import { endWith, readKept, readNames, readRunOptions } from '../run-options.ts';
import { openScene } from '../scene.ts';
import { openCache } from './cache.ts';
import { sampleFsync } from './fsync.ts';
import { type NatsPeerContext, openBareResponder } from './nats-peers.ts';
import { openPeers, peerNames } from './peers.ts';
import { compare, formatSummaries, type Named, summarise } from './report.ts';
import { type Measured, measureRound, nothingMeasured, warmUp } from './rounds.ts';

const help = `npm run bench:peers -- [--only NAME,NAME] [--rounds N] [--resume] [--json]

Compares stopgate with its alternatives: ${peerNames.join(', ')}.
Installs missing alternatives into ~/.cache/stopgate/bench ($STOPGATE_CACHE), and leaves them out if that fails.
--only    measures only these, and always the floor, to which all are compared
--rounds  the number of rounds (default: 12); a round takes about 20 s
--resume  continues the rounds of an interrupted run
`;

/** The state that an interrupted run leaves for `--resume`. */
type Kept = { readonly measured: [string, Measured][]; readonly fsync: number[]; readonly rounds: number };

const nothingKept: Kept = { measured: [], fsync: [], rounds: 0 };

const string = { type: 'string' } as const;
const boolean = { type: 'boolean', default: false } as const;
const options = {
  only: string,
  rounds: { ...string, default: '12' },
  resume: boolean,
  json: boolean,
  help: boolean,
} as const;
const values = readRunOptions(options, help);
if (values.help) process.stdout.write(help);
else await main();

async function main(): Promise<void> {
  const only = values.only === undefined ? undefined : `floor,${values.only}`;
  const names = readNames(only, peerNames, help);
  const total = Number(values.rounds);
  if (!Number.isInteger(total) || total < 1) endWith(`--rounds '${values.rounds}' is not a whole number above 0`, help);
  const cache = openCache();
  const keptFile = join(cache, 'peers.json');
  const kept = values.resume ? readKept(keptFile, nothingKept) : nothingKept;
  const fsync = [...kept.fsync];
  const measured = new Map(kept.measured.filter(([name]) => names.includes(name)));
  const scene = await openScene();
  const nc = await connect({ servers: scene.url });
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const closers: (() => Promise<void>)[] = [
    async () => rmSync(folder, { recursive: true, force: true }),
    scene.close,
    () => nc.close(),
  ];
  const close = async () => {
    for (let each = closers.pop(); each !== undefined; each = closers.pop()) await each().catch(() => undefined);
  };
  const context: NatsPeerContext = {
    url: scene.url,
    cache,
    folder,
    nc,
    scene,
    onClose: (each) => void closers.push(each),
  };
  let isEnded = false;
  // The first signal prints what has been measured. A second one exits at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isEnded) void close().finally(() => process.exit(1));
      isEnded = true;
    });
  }
  try {
    const loadBefore = loadavg();
    if (names.some((name) => name.startsWith('bare'))) await openBareResponder(context);
    const { peers, missing } = await openPeers(names, context, note);
    for (const [name, peer] of peers) {
      note(`warming up ${name}`);
      await warmUp(peer);
    }
    for (let round = kept.rounds; round < total && !isEnded; round += 1) {
      note(`round ${round + 1} of ${total}`);
      for (const [name, peer] of peers) {
        const results = measured.get(name) ?? nothingMeasured();
        measured.set(name, results);
        // The terminal sends the signal to the measured processes too.
        await measureRound(peer, results).catch((error: unknown) => {
          if (!isEnded) throw error;
        });
        if (isEnded) break;
      }
      fsync.push(...sampleFsync(folder));
      writeFileSync(keptFile, JSON.stringify({ measured: [...measured], fsync, rounds: round + 1 } satisfies Kept));
    }
    print({ measured, named: peers, missing, fsync, loadBefore: loadBefore[0] ?? 0 });
  } finally {
    await close();
  }
}

type Run = {
  readonly measured: ReadonlyMap<string, Measured>;
  readonly named: ReadonlyMap<string, Named>;
  readonly missing: ReadonlyMap<string, string>;
  readonly fsync: readonly number[];
  readonly loadBefore: number;
};

function print({ measured, named, missing, fsync, loadBefore }: Run): void {
  const summaries = summarise(measured, named);
  const goals = compare(summaries);
  const [cpu] = cpus();
  const machine = {
    cores: cpus().length,
    model: cpu?.model ?? '',
    node: process.version,
    loadBefore,
    loadAfter: loadavg()[0] ?? 0,
    fsyncP50Ms: quantile(fsync, 0.5),
  };
  if (values.json) {
    process.stdout.write(
      `${JSON.stringify({ machine, peers: summaries, missing: Object.fromEntries(missing), goals })}\n`,
    );
    return;
  }
  const load = `load ${loadBefore.toFixed(1)} before and ${machine.loadAfter.toFixed(1)} after`;
  process.stdout.write(
    `${machine.cores} cores, Node ${machine.node}, ${load}, fsync ${machine.fsyncP50Ms.toFixed(2)} ms\n\n`,
  );
  process.stdout.write(`${formatSummaries(summaries)}\n${formatFigures(goals)}`);
  for (const [name, why] of missing) process.stdout.write(`left out: ${name}: ${why}\n`);
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
