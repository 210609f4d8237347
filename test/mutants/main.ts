/** Changes the program in one small place at a time, and asks whether a test notices. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readEnvironment } from '../../src/config/environment.ts';
import { createRandom } from '../simulation/random.ts';
import { describeChange, findMutations, type Mutation, placeOf } from './mutations.ts';

const usage = `npm run test:mutants [-- --count N] [--seed S] [--in DIR,…] [--at PLACE,…] [--max N] [--json]

  --count N   so many mutations, drawn at random; default 30
  --seed S    draws the same again; default: the clock
  --in DIR    from these folders or files, with commas between; default machines,src/host
  --at PLACE,…  every mutation of these places, such as machines/guards/idle.ts:40:12, instead of a draw
  --without GLOB  not with these tests, such as a recorded log that notices any difference
  --max N     exit with 1 if more than N survive; default: any number may
  --patience SECONDS  ends the tests of one mutation; default 300
  --jobs N    so many at once; default: one for each core
  --list      names the mutations, and tries none
  --json      one line of JSON at the end
`;

const root = resolve(import.meta.dirname, '../..');
/** Longer than all quick tests take on a busy machine: only a mutant that loops should take more. */
const patienceDefault = '300';

const interrupted = 130;

type Options = {
  readonly without: readonly string[];
  readonly jobs: number;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
};
type Fate = 'killed' | 'survived' | 'timed out';
type Result = { readonly mutation: Mutation; readonly fate: Fate; readonly by: string | null };

/** @returns the exit code: 1 where more survive than may, 2 for wrong usage */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      count: { type: 'string', default: '30' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      in: { type: 'string', default: 'machines,src/host' },
      at: { type: 'string' },
      without: { type: 'string', multiple: true, default: [] },
      max: { type: 'string' },
      patience: { type: 'string', default: patienceDefault },
      jobs: { type: 'string', default: String(availableParallelism()) },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const all = findAll(values.in.split(','));
  const { at } = values;
  const chosen =
    at === undefined
      ? draw(all, Number(values.count), Number(values.seed))
      : all.filter((it) => at.split(',').includes(placeOf(it)));
  if (values.help || chosen.length === 0) {
    process.stdout.write(values.help ? usage : `no mutation is there: ${at ?? values.in}\n\n${usage}`);
    return values.help ? 0 : 2;
  }
  if (values.list) {
    for (const mutation of chosen) process.stdout.write(`${show(mutation)}\n`);
    return 0;
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  const from = at === undefined ? `, --seed ${values.seed}` : '';
  process.stdout.write(`${chosen.length} of ${all.length} mutations${from}\n`);
  const { fate, by } = await runTests([...new Set(chosen.map(({ file }) => file))], null, {
    without: values.without,
    jobs: 1,
    patienceMs: 2_000 * Number(values.patience),
    signal: stop.signal,
  });
  if (fate !== 'survived' && !stop.signal.aborted) {
    process.stdout.write(`the tests fail without a mutation, so they would notice each: ${by ?? fate}\n`);
    return 2;
  }
  const results = await tryAll(chosen, {
    without: values.without,
    jobs: Number(values.jobs),
    patienceMs: 1_000 * Number(values.patience),
    signal: stop.signal,
  });
  if (stop.signal.aborted) return interrupted;
  const survivors = results.filter(({ fate }) => fate === 'survived').map(({ mutation }) => mutation);
  const late = results.filter(({ fate }) => fate === 'timed out').length;
  const noticed = results.length - survivors.length - late;
  const lateText = late === 0 ? '' : `, ${late} timed out: they loop, or the machine is busy (--patience)`;
  process.stdout.write(`${noticed} noticed, ${survivors.length} survived${lateText}\n`);
  if (values.json) process.stdout.write(`${JSON.stringify({ seed: Number(values.seed), results })}\n`);
  return survivors.length > Number(values.max ?? Number.POSITIVE_INFINITY) ? 1 : 0;
}

function findAll(places: readonly string[]): Mutation[] {
  const files = places.flatMap((place) =>
    place.endsWith('.ts')
      ? [place]
      : readdirSync(join(root, place), { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.ts'))
          .map((name) => posix.join(place, name))
          .sort(),
  );
  return files.flatMap((file) => findMutations(file, readFileSync(join(root, file), 'utf8')));
}

/** Draws so many without taking one twice. */
function draw(all: readonly Mutation[], count: number, seed: number): Mutation[] {
  const random = createRandom(seed);
  const left = [...all];
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(random.int(0, left.length - 1), 1)[0] as Mutation,
  );
}

const show = (mutation: Mutation): string => `${placeOf(mutation)} ${mutation.what}`;

async function tryAll(mutations: readonly Mutation[], options: Options): Promise<Result[]> {
  const left = [...mutations];
  const results: Result[] = [];
  const next = async () => {
    for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
      const result = await tryOne(mutation, options);
      if (options.signal.aborted) return;
      results.push(result);
      const by = result.by === null ? '' : ` by ${result.by}`;
      process.stdout.write(`${result.fate.padEnd(9)} ${show(mutation)}${by}\n`);
      if (result.fate !== 'survived') continue;
      const source = readFileSync(join(root, mutation.file), 'utf8');
      for (const line of describeChange(source, mutation)) process.stdout.write(`          ${line}\n`);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, next));
  return results;
}

const tryOne = async (mutation: Mutation, options: Options): Promise<Result> => ({
  mutation,
  ...(await runTests([mutation.file], mutation, options)),
});

/** Runs the tests that lead to the files until one fails. Null: the program as it is. */
async function runTests(
  files: readonly string[],
  mutation: Mutation | null,
  { without, signal, patienceMs }: Options,
): Promise<Omit<Result, 'mutation'>> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const config = join(root, 'test/mutants/vitest.config.ts');
  const excluded = without.flatMap((glob) => ['--exclude', glob]);
  const args = ['related', '--run', '--passWithNoTests', '--config', config, '--reporter=json', ...excluded, ...files];
  const child = spawn(process.execPath, [vitest, ...args], {
    // A group of its own: a mutant that loops does so in a process of vitest's, which would outlive it.
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
    env: { ...readEnvironment(), STOPGATE_MUTATION: JSON.stringify(mutation) },
  });
  const end = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const timer = setTimeout(end, patienceMs);
  signal.addEventListener('abort', end, { once: true });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve).once('error', reject);
  });
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  if (code === 0) return { fate: 'survived', by: null };
  return code === null ? { fate: 'timed out', by: null } : { fate: 'killed', by: firstFailure(output) };
}

/** The test that noticed, of the report in JSON; the file where it could not even be loaded. */
function firstFailure(output: string): string | null {
  const begin = output.indexOf('{"numTotalTestSuites"');
  if (begin < 0) return null;
  const { testResults } = JSON.parse(output.slice(begin)) as {
    testResults: { name: string; status: string; assertionResults: { status: string; title: string }[] }[];
  };
  const file = testResults.find(({ status }) => status === 'failed');
  if (file === undefined) return null;
  const failed = file.assertionResults.find(({ status }) => status === 'failed');
  return `${posix.relative(root, file.name)}${failed === undefined ? '' : `: ${failed.title}`}`;
}
