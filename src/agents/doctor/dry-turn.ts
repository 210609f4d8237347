/**
 * Runs one turn of an agent's real program against a fake model on loopback, in a temporary folder with its own home
 * and environment. The user's account, settings and sessions are not touched. The first stop is blocked and the second
 * allowed, which shows whether the hook runs and whether the agent continues after a block.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Answer, bad, type DryTurnOptions, ok } from './doctor.ts';
import { type FakeModel, type Loopback, openLoopback, sendJson } from './models.ts';

/** How to run one agent. */
export type DryTurn = {
  readonly openModel: () => Promise<FakeModel>;
  /** Writes the agent's settings into the stage's home. */
  readonly prepare: (stage: Stage) => Promise<Prepared>;
  /** The service's answer that blocks. Default: `decision: block` with a reason. */
  readonly block?: (reason: string) => object;
  /** False if the agent asks only once a turn, so not again after a block. Default: true. */
  readonly asksAgain?: boolean;
  /** False if its hooks cannot block a stop and only report it. Default: true. */
  readonly canBlock?: boolean;
};
export type Stage = {
  readonly home: string;
  readonly project: string;
  /** The text of the settings with our hooks, or of our plugin. */
  readonly settings: string;
  /** The fake model's URL. */
  readonly model: string;
  readonly binary: string;
  readonly env: Readonly<Record<string, string>>;
  /** Writes a file and creates its folder. */
  readonly write: (path: string, text: string) => void;
};
export type Prepared = {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For an agent that runs as a server: starts a turn at the address that it prints. Killed after the second stop. */
  readonly drive?: (address: string) => Promise<void>;
};

export type Turn = DryTurnOptions & {
  readonly stopEvent: string;
  /** Creates settings whose hooks call this address. */
  readonly settingsFor: (http: string) => string;
};

type TurnResult = {
  /** The events that hooks reported, in order. */
  readonly events: readonly string[];
  /** The token sent with the last stop. */
  readonly token: string | null;
  /** Number of model turns. */
  readonly turns: number;
  /** True if the model received the block's reason. */
  readonly gotReason: boolean;
  /** How the program failed, or null. */
  readonly failure: string | null;
};

const reason = 'stopgate doctor: this first stop is blocked to test that a block works.';
const turnTimeoutMs = 90_000;

export async function tryTurn(dryTurn: DryTurn, turn: Turn): Promise<Answer> {
  try {
    const outcome = await run(dryTurn, turn);
    const finding = judge(dryTurn, turn, outcome);
    const refused = finding.state === 'ok' ? ((await turn.pass?.refusalOf(outcome.token)) ?? null) : null;
    return refused === null ? finding : { ...refused, text: `dry turn: ${refused.text}` };
  } catch (error) {
    return bad(`dry turn: ${(error as Error).message}`, 'check whether the program starts at all');
  }
}

async function run(
  { openModel, prepare, block = blockAnswer, canBlock = true }: DryTurn,
  turn: Turn,
): Promise<TurnResult> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-doctor-')));
  const calls: Calls = { events: [], token: null };
  let model: FakeModel | undefined;
  let gate: Loopback | undefined;
  try {
    const project = join(scratch, 'project');
    const home = join(scratch, 'home');
    for (const folder of [project, home]) mkdirSync(folder);
    gate = await openGate(turn.stopEvent, calls, block);
    model = await openModel();
    const pass = turn.pass === null ? {} : { [turn.pass.variable]: turn.pass.value };
    const env = { ...pass, PATH: turn.path, HOME: home, TERM: 'dumb', LANG: 'C.UTF-8', NO_COLOR: '1' };
    const settings = turn.settingsFor(gate.url);
    const { binary } = turn;
    const prepared = await prepare({ home, project, settings, model: model.url, binary, env, write });
    const program = startProgram(binary, prepared.args, project, { ...env, ...prepared.env });
    const isOver = () => countStops(turn, calls.events) >= 2;
    turn.signal.addEventListener('abort', program.kill, { once: true });
    if (turn.signal.aborted) program.kill();
    const failure = await endOf(program, prepared.drive, isOver);
    // An agent that cannot be blocked does not wait for this hook.
    if (!canBlock) await waitFor(() => countStops(turn, calls.events) > 0);
    const gotReason = model.turns.at(-1)?.includes(JSON.stringify(reason).slice(1, -1)) ?? false;
    return { ...calls, turns: model.turns.length, gotReason, failure };
  } finally {
    await Promise.all([gate?.close(), model?.close()]);
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const countStops = ({ stopEvent }: Turn, events: readonly string[]): number =>
  events.filter((event) => event === stopEvent).length;

function judge(
  { asksAgain = true, canBlock = true }: DryTurn,
  turn: Turn,
  { events, turns, gotReason, failure }: TurnResult,
): Answer {
  const { stopEvent } = turn;
  const stops = countStops(turn, events);
  const fired = [...new Set(events)].join(', ');
  if (!canBlock && stops > 0) return ok(`dry turn: ${fired} fired; its hooks report a stop, but cannot block it`);
  if (stops >= (asksAgain ? 2 : 1) && turns >= 2 && gotReason) {
    return ok(`dry turn: ${fired} fired; the first stop was blocked, and the agent continued with the reason`);
  }
  const end = failure === null ? '' : `; the program ended with ${failure}`;
  const what =
    events.length === 0
      ? 'no hook fired'
      : stops === 0
        ? `${events.join(', ')} fired, but no ${stopEvent}`
        : 'the hook was called for a stop, but the block had no effect';
  return bad(
    `dry turn: ${what} (${turns} model turn${turns === 1 ? '' : 's'})${end}`,
    'this version of the agent may need other hooks: check whether a newer stopgate supports it',
  );
}

type Calls = { readonly events: string[]; token: string | null };

/** A stand-in for the service that blocks the first stop. */
function openGate(stopEvent: string, calls: Calls, block: (reason: string) => object): Promise<Loopback> {
  let stops = 0;
  return openLoopback(({ body, path, token }, response) => {
    const inBody = (body as { hook_event_name?: unknown } | null)?.hook_event_name;
    const event = String(inBody ?? new URL(path, 'http://gate').searchParams.get('event') ?? 'unknown');
    calls.events.push(event);
    if (event === stopEvent) {
      stops += 1;
      calls.token = token;
    }
    if (event === stopEvent && stops === 1) sendJson(response, 200, block(reason));
    else response.writeHead(204).end();
  });
}

const blockAnswer = (reason: string): object => ({ decision: 'block', reason });

type RunningProgram = {
  /** The end of its output. */
  readonly output: () => string;
  /** Resolves to the failure, or to null after exit code 0. */
  readonly ended: Promise<string | null>;
  readonly kill: () => void;
};

/** Starts a process group, because some programs restart themselves in a child process. */
function startProgram(
  binary: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): RunningProgram {
  const child = spawn(binary, [...args], { cwd, env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputCharsMax);
    });
  const ended = new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
      resolve(code === 0 ? null : `${end}: ${output.trim().slice(-300)}`);
    });
  });
  return { output: () => output, ended, kill: () => killGroup(child.pid) };
}

/** Enough for the address that a server prints and for its last message. */
const outputCharsMax = 8_000;
const pollMs = 100;

/** Waits for the end of the turn. Resolves to the failure, or to null. */
async function endOf(program: RunningProgram, drive: Prepared['drive'], isOver: () => boolean): Promise<string | null> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    program.kill();
  }, turnTimeoutMs);
  try {
    if (drive === undefined) return await program.ended;
    const address = await until(program, () => /listening on (http:\S+)/.exec(program.output())?.[1]);
    if (address !== null) await drive(address);
    const isDone = await until(program, () => (isOver() ? true : undefined));
    program.kill();
    const end = await program.ended;
    return isDone === null || isLate ? end : null;
  } catch (error) {
    program.kill();
    // The caller removes its folders next.
    await program.ended;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Polls `find` until it returns a value. Resolves to null if the program ends first. */
async function until<Found>(program: RunningProgram, find: () => Found | undefined): Promise<Found | null> {
  let hasEnded = false;
  void program.ended.then(() => {
    hasEnded = true;
  });
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (hasEnded) return null;
    await new Promise((done) => setTimeout(done, pollMs));
  }
}

/** A hook that the agent does not wait for may come this long after its end. */
const lateHookMs = 10_000;

async function waitFor(isThere: () => boolean): Promise<void> {
  for (let waitedMs = 0; !isThere() && waitedMs < lateHookMs; waitedMs += pollMs)
    await new Promise((done) => setTimeout(done, pollMs));
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // already ended
  }
}
