/** up: sets up everything that a developer needs: service, policy, agent, and a test that a stop is judged. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import type { Finding } from '../../../agents/doctor/doctor.ts';
import { describePlans } from '../../../agents/doctor/worker-checks.ts';
import { type Agent, agents } from '../../../agents/index.ts';
import { findProgram, type LocalContext, rootOf } from '../../../agents/setup/local-context.ts';
import { type Change, openSettings, readText, writeSettings } from '../../../agents/setup/settings-file.ts';
import type { SettingsSetup } from '../../../agents/setup/setup.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { homeFolder, readVariable } from '../../../config/environment.ts';
import { readConfigFile } from '../../../config/file-reader.ts';
import type { ServiceFile } from '../../../config/store.ts';
import { AppError } from '../../../errors.ts';
import { findBinary } from '../../../nats/embedded/server-binary.ts';
import { holderOf } from '../../../nats/embedded/store-lock.ts';
import { type Context, defineCommand, type Flags, flag, listOption } from '../../command.ts';
import { createProgress } from '../../progress.ts';
import {
  type ChangedFile,
  nearestFolder,
  planRemoval,
  readRecord,
  removeRecord,
  stateFolderOf,
  toChangedFile,
  type UpRecord,
  undoFiles,
  writeRecord,
} from '../../project/changes.ts';
import {
  chooseSupervisor,
  findRunning,
  logFile,
  removeLogs,
  type Supervisor,
  storeOf,
  variablesIn,
  waitUntilReady,
} from '../../project/service.ts';
import { findTestCommand, type TestCommand } from '../../project/test-command.ts';
import { ask, askYes, canAsk } from '../../questions.ts';
import { readRules, rulesFile, type TemplateName } from '../../templates.ts';
import { diagnose } from './diagnose.ts';
import { formatFinding } from './doctor.ts';
import { names, noFlags, readLine, readScope } from './init-options.ts';

const connectable = names.filter((name) => name !== 'shell');

const args = {
  agent: listOption('AGENT', `the agents to connect: ${connectable.join(', ')} (default: the one on PATH)`, readAgent),
  yes: flag('do not ask for confirmation; required without a terminal'),
  'dry-run': flag('only say what would be done'),
  json: flag('print JSON'),
} as const;
type UpContext = Context<Flags<typeof args>>;

const interruptedCode = 130;

export const up = defineCommand({
  args,
  details: [
    'Starts the service of this folder in the background, under systemd or launchd where one works. Without a stopgate.yaml it writes one: the tests of the project (package.json, Makefile, pytest, go.mod, Cargo.toml) must pass, or the plan of the agent must be done. Then it connects the agent, like "stopgate init", and runs a dry turn, like "stopgate doctor".',
    'It lists every file that it will write, and asks first. Ctrl-C undoes what was done so far, and "stopgate down" undoes everything. Running it again does only what is missing.',
    'Exit code 0: stops are judged. 1: something is missing; the output says what. 2: nothing was changed.',
  ],
  examples: ['stopgate up', 'stopgate up --agent claude --yes', 'stopgate up --agent claude,codex --dry-run'],
  run: async (context) => {
    const { flags, io, note } = context;
    const plan = await makePlan(context);
    const isUp = plan.running !== null && changesOf(plan).length === 0;
    if (!flags.json) await context.out.print(...describePlan(plan, isUp).map(context.asTyped));
    if (isUp || flags['dry-run']) {
      if (flags.json) await context.out.json(reportOf(plan, { running: plan.running, isUp, findings: [] }));
      else if (isUp) await context.out.print(context.asTyped(`It is already up. ${alreadyUp(plan)}`));
      return 0;
    }
    if (!flags.yes) {
      if (!canAsk(io))
        throw new AppError(
          'input.bad',
          'nothing was changed: there is no terminal to confirm on; pass --yes, or --dry-run to see what would be done',
        );
      if (!(await askYes(io, 'Do this?'))) {
        note('nothing was changed');
        return 2;
      }
    }
    return carryOut(plan, context);
  },
});

function readAgent(name: string): string {
  if (connectable.includes(name)) return name;
  if (name === 'shell') throw new AppError('input.bad', "'shell' has no settings to change; run: stopgate init shell");
  throw new AppError('input.bad', `'${name}' is unknown; use one of: ${connectable.join(', ')}`);
}

type Connection = {
  readonly agent: Agent;
  readonly setup: SettingsSetup;
  /** The first is the file with the hooks. */
  readonly changes: readonly [Change, ...Change[]];
};

type Rules = { readonly change: Change; readonly template: TemplateName; readonly tests: TestCommand | null };

type Plan = {
  readonly folder: string;
  readonly places: LocalContext;
  readonly earlier: UpRecord | null;
  /** The service that is already running here, whoever started it. */
  readonly running: ServiceFile | null;
  /** Starts the service. Null if one is running or starting. */
  readonly supervisor: Supervisor | null;
  readonly supervisorFiles: readonly Change[];
  readonly url: string;
  /** The nearest folder above whose service runs. Null if there is none. */
  readonly above: string | null;
  /** Null if the folder has a stopgate.yaml. */
  readonly rules: Rules | null;
  readonly connections: readonly Connection[];
};

/** Changes nothing. @throws AppError if something is in the way */
async function makePlan(context: UpContext): Promise<Plan> {
  const { cwd: folder, env } = context.io;
  const places: LocalContext = { cwd: folder, home: homeFolder(env), env };
  const earlier = readRecord(folder, env);
  const config = await loadConfig({ cwd: folder, env, serving: true });
  const running = await findRunning(folder);
  const isStarting = running === null && (await holderOf(storeOf(folder))) !== null;
  const rules = planRules(config, folder);
  const { http, url } = await chooseAddress(config, { running, earlier, env });
  const file = rules === null ? config.file : readOwnRules(rules);
  const serviceOptions = { folder, stateFolder: stateFolderOf(folder, env), env, http, variables: variablesIn(file) };
  if (running === null && !isStarting) await findBinary(env);
  const supervisor = running === null && !isStarting ? await chooseSupervisor(serviceOptions) : null;
  const supervisorFiles = (supervisor?.files ?? []).map(({ path, text }): Change => {
    const opened = openSettings(path, rootOf(path, 'user', places));
    return { file: opened, after: text };
  });
  const effect = describePlans(file.policySet.policies);
  const connections: Connection[] = [];
  for (const name of await chooseAgents(context, earlier, places)) {
    const agent = agents.get(name) as Agent;
    const { setup } = await agent.settings();
    if (setup.kind !== 'settings') continue;
    const scope = readScope(name, setup, noFlags);
    const { line } = await readLine(name, setup, { ...context, flags: { ...noFlags, http: url } });
    const planTools = effect !== null && setup.planTools?.(places).state === 'off';
    const rest = { blockCap: undefined, planTools, usage: false, remove: false };
    connections.push({ agent, setup, changes: setup.plan({ scope, places, line, ...rest }) });
  }
  const outer = config.store;
  const outerFolder = outer === null || outer.folder === storeOf(folder) ? null : dirname(outer.folder);
  const above = outerFolder !== null && (await findRunning(outerFolder)) !== null ? outerFolder : null;
  return { folder, places, earlier, running, supervisor, supervisorFiles, url, above, rules, connections };
}

function planRules(config: Config, folder: string): Rules | null {
  if (config.fileText !== null || config.filePath !== join(folder, rulesFile)) return null;
  const tests = findTestCommand(folder);
  const template = tests === null ? 'plan' : 'tests';
  const file = openSettings(config.filePath, folder);
  return { change: { file, after: readRules(template, tests?.run ?? null) }, template, tests };
}

function readOwnRules({ change }: Rules): Config['file'] {
  const read = readConfigFile(change.after ?? '', change.file.path);
  if (!read.ok) throw new Error(`the template is not valid: ${JSON.stringify(read.problems)}`);
  return read.file;
}

type Known = Pick<Plan, 'running' | 'earlier'> & Pick<LocalContext, 'env'>;

/**
 * Chooses a fixed port, because the settings of agents name it: that of an earlier `up`, otherwise the default, or any
 * free one if another project's service uses it.
 * @throws AppError input.bad if HTTP is off
 */
async function chooseAddress(config: Config, { running, earlier, env }: Known): Promise<{ http: string; url: string }> {
  const { http } = config;
  if (http === null || (running !== null && running.http === null))
    throw new AppError(
      'input.bad',
      'the service has HTTP off, but hooks need it; remove "http: off" from stopgate.yaml',
    );
  if (running?.http != null) return { http: new URL(running.http).host, url: running.http };
  const isGiven = config.file.http !== null || readVariable('STOPGATE_HTTP', env) !== undefined;
  const wanted = earlier === null || isGiven ? http.port : Number(new URL(earlier.url).port);
  const port = isGiven || (await freePort(wanted)) === wanted ? wanted : await freePort(0);
  const host = http.host.includes(':') ? `[${http.host}]` : http.host;
  return { http: `${host}:${port}`, url: `${new URL(http.url).protocol}//${host}:${port}` };
}

/** Returns the port if it is free, for 0 any free one, and null if it is taken. */
const freePort = (port: number): Promise<number | null> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(null));
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const found = probe.address();
      probe.close(() => resolve(typeof found === 'object' && found !== null ? found.port : null));
    });
  });

/**
 * Returns the named agents, otherwise those of an earlier `up`, otherwise the only one on PATH. Asks if there are
 * several.
 */
async function chooseAgents(
  { flags, io }: UpContext,
  earlier: UpRecord | null,
  { env }: LocalContext,
): Promise<readonly string[]> {
  if (flags.agent !== undefined) return [...new Set(flags.agent)];
  const before = new Set((earlier?.files ?? []).flatMap(({ agent }) => (agent === null ? [] : [agent])));
  if (before.size > 0) return [...before];
  const found: string[] = [];
  for (const { name, settings } of agents.values()) {
    const { setup } = await settings();
    if (setup.kind === 'settings' && findProgram(setup.program.binary, env) !== null) found.push(name);
  }
  if (found.length <= 1) return found;
  const list = found.join(', ');
  if (flags.yes || !canAsk(io))
    throw new AppError('input.bad', `several agents are installed (${list}): name those to connect with --agent`);
  const answer = await ask(io, `Which agents should ask before they stop (${list}; Enter for all)? `);
  return answer === '' ? found : answer.split(/[\s,]+/).map(readAgent);
}

/** Files outside of .stopgate that will change. */
const changesOf = ({ rules, supervisorFiles, connections }: Plan): readonly Change[] =>
  [
    ...supervisorFiles,
    ...(rules === null ? [] : [rules.change]),
    ...connections.flatMap(({ changes }) => changes),
  ].filter(({ file, after }) => after !== file.text);

const kindOf = ({ file }: Change): 'created' | 'changed' => (file.text === null ? 'created' : 'changed');

const shownPath = (path: string, { cwd, home }: LocalContext): string => {
  const inside = relative(cwd, path);
  if (!inside.startsWith('..')) return inside;
  return path.startsWith(`${home}/`) ? `~/${relative(home, path)}` : path;
};

function ruleOf({ tests }: Pick<Rules, 'tests'>): string {
  if (tests === null) return 'every step of its plan must be done (no test command was found)';
  return `"${tests.run.join(' ')}" must pass if it changed files (${tests.from})`;
}

function describePlan(plan: Plan, isUp: boolean): string[] {
  const { places, running, supervisor, url, above, rules, connections } = plan;
  if (isUp) return [];
  const verb = (change: Change) => (kindOf(change) === 'created' ? 'create' : 'change');
  return [
    'stopgate up will:',
    supervisor === null
      ? `  use     the service that runs here${running === null ? '' : ` (process ${running.pid})`}, at ${url}`
      : `  start   the service at ${url}, as ${supervisor.title}`,
    ...plan.supervisorFiles.map((change) => `  ${verb(change)}  ${shownPath(change.file.path, places)}`),
    rules === null ? `  keep    ${rulesFile}` : `  create  ${rulesFile}: for a stop, ${ruleOf(rules)}`,
    ...connections.flatMap(({ agent, changes }) =>
      changes.map((change) =>
        change.after === change.file.text
          ? `  keep    ${shownPath(change.file.path, places)}: ${agent.title} already asks`
          : `  ${verb(change)}  ${shownPath(change.file.path, places)}: hooks, so that ${agent.title} asks before it stops`,
      ),
    ),
    ...connections.flatMap(({ setup }) => setup.trust?.describe(places) ?? []).map((text) => `  ${text}`),
    ...(above === null || running !== null
      ? []
      : [
          `  note    the service of ${above} runs already; to use it and its rules here, run "stopgate up" there instead`,
        ]),
    'The log goes to .stopgate. "stopgate down" undoes all of this.',
  ];
}

type Result = {
  readonly running: Pick<ServiceFile, 'pid' | 'http'> | null;
  readonly isUp: boolean;
  readonly findings: readonly Finding[];
};

const reportOf = (plan: Plan, { running, isUp, findings }: Result) => ({
  up: running !== null,
  already: isUp,
  folder: plan.folder,
  http: plan.url,
  service: {
    kind: plan.supervisor?.kind ?? plan.earlier?.service?.kind ?? null,
    pid: running?.pid ?? null,
    log: plan.supervisor === null && plan.earlier?.service == null ? null : logFile(plan.folder),
  },
  agents: plan.connections.map(({ agent }) => agent.name),
  policy: {
    file: join(plan.folder, rulesFile),
    template: plan.rules?.template ?? null,
    tests: plan.rules?.tests ?? null,
  },
  files: changesOf(plan).map((change) => ({ path: change.file.path, change: kindOf(change) })),
  findings,
});

async function carryOut(plan: Plan, context: UpContext): Promise<number> {
  const { flags, io, out, note, asTyped } = context;
  const signal = io.interrupt();
  const work = createWork(plan, io.env);
  const say = async (text: string) => {
    if (!flags.json) await out.print(`${out.colors.green('✓')} ${text}`);
  };
  const progress = createProgress(io);
  try {
    const running = await startService(plan, work, { signal, progress });
    await say(`the service runs at ${plan.url} (process ${running.pid})`);
    if (plan.rules !== null) await say(`wrote ${rulesFile}`);
    for (const connection of plan.connections) {
      signal.throwIfAborted();
      const trust = await connect(connection, plan, work);
      for (const { file } of connection.changes)
        await say(`${connection.agent.title} asks: ${shownPath(file.path, plan.places)}`);
      if (trust !== null) note(trust);
    }
    const findings: Finding[] = [];
    for (const { agent } of plan.connections) {
      progress.show(`a dry turn of ${agent.title}`);
      const request = {
        agent: agent.name,
        http: plan.url,
        fleet: undefined,
        config: undefined,
        quick: false,
        isFirst: true,
      };
      const found = await diagnose(request, io, signal);
      progress.clear();
      signal.throwIfAborted();
      findings.push(...found.filter(({ about }) => about === agent.name || findings.length === 0));
    }
    const isBad = plan.connections.length === 0 || findings.some(({ state }) => state === 'bad');
    if (flags.json) await out.json(reportOf(plan, { running, isUp: false, findings }));
    else {
      const shown = findings.filter(
        ({ state, text }) => state === 'bad' || state === 'warn' || text.startsWith('dry turn'),
      );
      await out.print(
        ...shown.flatMap((finding) => formatFinding(finding, out.colors)),
        '',
        asTyped(isBad ? notJudged(plan) : sentenceFor(plan)),
      );
    }
    return isBad ? 1 : 0;
  } catch (error) {
    progress.clear();
    await work.undo();
    if (!signal.aborted) throw error;
    note('stopgate: interrupted; everything was undone');
    return interruptedCode;
  }
}

const titlesOf = ({ connections }: Plan) => connections.map(({ agent }) => agent.title).join(' and ');
const closing = ({ url }: Plan) => `Watch it at ${url}; "stopgate down" undoes all of this.`;

/** Says what happens next. */
function sentenceFor(plan: Plan): string {
  const rule = plan.rules === null ? `${rulesFile} says when it may` : `for that, ${ruleOf(plan.rules)}`;
  return `Starting with its next session in this folder, ${titlesOf(plan)} asks before it stops: ${rule}. ${closing(plan)}`;
}

/** Says what is still missing. */
function notJudged(plan: Plan): string {
  if (plan.connections.length === 0)
    return `The service runs, but no agent was found on PATH, so nothing is judged: install one and run "stopgate up" again, or see "stopgate init shell". Watch it at ${plan.url}.`;
  return `Until what is marked with ✗ is fixed, stops of ${titlesOf(plan)} may not be judged; "${doctorOf(plan)}" checks again. ${closing(plan)}`;
}

/** Does not examine again whether stops are judged. */
function alreadyUp(plan: Plan): string {
  if (plan.connections.length === 0) return notJudged(plan);
  return `${titlesOf(plan)} is connected; "${doctorOf(plan)}" checks that its stops are judged. ${closing(plan)}`;
}

const doctorOf = ({ connections }: Plan) =>
  connections.length === 1 ? `stopgate doctor ${connections[0]?.agent.name}` : 'stopgate doctor';

/** Takes the steps of a plan and undoes them. Each step is recorded before it is taken. */
type Work = {
  readonly write: (change: Change, agent: string | null) => void;
  /** Records files that an agent's setup has changed. */
  readonly add: (files: readonly ChangedFile[]) => void;
  readonly start: (supervisor: Supervisor) => Promise<() => Promise<boolean>>;
  readonly started: (pid: number) => void;
  readonly undo: () => Promise<void>;
};

function createWork({ folder, places, earlier, url }: Plan, env: UpContext['io']['env']): Work {
  const stateFolder = stateFolderOf(folder, env);
  let record: UpRecord = earlier ?? {
    v: 1,
    folder,
    url,
    service: null,
    madeStore: !existsSync(storeOf(folder)),
    stateParent: nearestFolder(dirname(stateFolder)),
    files: [],
  };
  const added: ChangedFile[] = [];
  let running: Supervisor | null = null;
  const save = (change: Partial<UpRecord>) => {
    record = { ...record, ...change };
    writeRecord(record, env);
  };
  const add = (files: readonly ChangedFile[]) => {
    added.push(...files);
    save({ files: [...record.files, ...files] });
  };
  return {
    add,
    write(change, agent) {
      if (change.after === change.file.text) return;
      add([toChangedFile(change, agent)]);
      writeSettings(change.file, change.after);
    },
    async start(supervisor) {
      save({ url, service: { kind: supervisor.kind, pid: null } });
      running = supervisor;
      return supervisor.start();
    },
    started(pid) {
      if (record.service !== null) save({ service: { ...record.service, pid } });
    },
    async undo() {
      await running?.stop(record.service?.pid ?? null);
      await undoFiles(added, places);
      if (earlier !== null) return writeRecord(earlier, env);
      removeLogs(folder);
      if (record.madeStore) rmSync(storeOf(folder), { recursive: true, force: true });
      removeRecord(record, env);
    },
  };
}

type Waiting = { readonly signal: AbortSignal; readonly progress: ReturnType<typeof createProgress> };

async function startService(plan: Plan, work: Work, { signal, progress }: Waiting): Promise<ServiceFile> {
  const { folder, supervisor, supervisorFiles, rules } = plan;
  // Write the rules first, so that they are in force when the service is ready.
  if (rules !== null) work.write(rules.change, null);
  for (const change of supervisorFiles) work.write(change, null);
  progress.show('starting the service');
  const store = storeOf(folder);
  mkdirSync(store, { recursive: true, mode: 0o700 });
  // The service writes this file too, but the log is there before it starts.
  writeFileSync(join(store, '.gitignore'), '*\n');
  const hasEnded = supervisor === null ? async () => false : await work.start(supervisor);
  const running = await waitUntilReady(folder, hasEnded, signal);
  if (supervisor !== null) work.started(running.pid);
  progress.clear();
  return running;
}

/** @returns a notice about the trust that the hooks need, or null */
async function connect({ agent, setup, changes }: Connection, { places }: Plan, work: Work): Promise<string | null> {
  for (const change of changes) work.write(change, agent.name);
  if (setup.trust === null) return null;
  // The trust is stored in a file that only the agent's setup knows.
  const readOwned = async () => new Map((await planRemoval(agent.name, places)).map(({ file }) => [file.path, file]));
  const before = await readOwned();
  const granted = await setup.trust.grant(changes[0], places);
  const touched = [...(await readOwned()).values()].flatMap((file): ChangedFile[] => {
    const earlier = before.get(file.path)?.text ?? null;
    const change = { file: { ...file, text: earlier }, after: readText(file.path) };
    return earlier === change.after ? [] : [toChangedFile(change, agent.name)];
  });
  work.add(touched);
  return granted.note;
}
