/**
 * `test --control`: shows that each check of a policy can fail, by building a situation in which it must fail.
 * Everything happens in temporary copies.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import {
  type Check,
  createReplay,
  emptyPolicySet,
  formatIsoTime,
  matchGlobs,
  type Policy,
} from '../../../../machines/index.ts';
import type { CommandConfig, ConfigFile } from '../../../config/file.ts';
import { AppError } from '../../../errors.ts';
import type { RunRequest } from '../../../host/effects/run-request.ts';
import { createLogger } from '../../../log.ts';
import type { Repository } from '../../../runner/git/find-repository.ts';
import {
  copyWorkTree,
  findWorkTree,
  pathInCopy,
  revertLastCommit,
  type WorkTreeCopy,
} from '../../../runner/git/work-tree-copy.ts';
import type { TimedReply } from '../../../runner/reply.ts';
import { createRunner } from '../../../runner/runner.ts';
import type { Io } from '../../../terminal/process-io.ts';

/** `error`: the check could not be judged. `skipped`: no situation can be built here, for the reason in `detail`. */
type ControlOutcome = 'fails' | 'passes' | 'error' | 'skipped';
export type Control = {
  readonly policy: string;
  readonly check: string;
  readonly kind: Check['kind'];
  readonly situation: string;
  readonly outcome: ControlOutcome;
  /** The check's own text, or null. */
  readonly detail: string | null;
};
type SituationResult = Pick<Control, 'situation' | 'outcome' | 'detail'>;

export type ControlOptions = {
  readonly file: ConfigFile;
  /** Absolute path of the configuration. */
  readonly path: string;
  readonly io: Pick<Io, 'env'>;
  /** When aborted, running checks are cancelled and `signal.reason` is thrown, after everything was removed. */
  readonly signal: AbortSignal;
  /** Called before something that may take long. */
  readonly onProgress: (text: string) => void;
};

/** Yields the result of each check of each policy, in their order. Removes its copies at the end. */
export async function* controlChecks(options: ControlOptions): AsyncGenerator<Control> {
  const { file, path, signal } = options;
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-control-')));
  // A second Ctrl-C exits at once.
  const onExit = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', onExit);
  try {
    const repository = await findWorkTree(await realpath(dirname(path)));
    const situations = createSituations({ ...options, folder, repository });
    for (const [policy, { checks, ...rules }] of file.policySet.policies)
      for (const check of leavesOf(checks))
        for (const tried of await situations.tryCheck(check, { checks, ...rules })) {
          signal.throwIfAborted();
          yield { policy, check: check.name, kind: check.kind, ...tried };
        }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    process.off('exit', onExit);
  }
}

const leavesOf = (checks: readonly Check[]): Check[] =>
  checks.flatMap((check) => ('of' in check ? leavesOf(check.of) : [check]));

type ControlTarget = ControlOptions & { readonly folder: string; readonly repository: Repository | null };

function createSituations(target: ControlTarget) {
  const { folder, file, repository, signal, onProgress } = target;
  // Several policies may have the same command, which is run once.
  const commands = new Map<string, Promise<SituationResult>>();
  let copy: Promise<WorkTreeCopy> | null = null;
  const newFolder = async () => {
    const path = join(folder, randomBytes(6).toString('hex'));
    await mkdir(path);
    return path;
  };
  const options = { env: target.io.env, signal };
  // One copy serves all commands, which run one after the other, as they would for a worker.
  const withoutLastCommit = (original: Repository) => {
    copy ??= (async () => {
      onProgress(`copying ${original.workTree} to a temporary folder`);
      const made = await copyWorkTree(original, await newFolder(), 'whole', options);
      await revertLastCommit(made);
      return made;
    })();
    return copy;
  };

  async function tryCommand(name: string): Promise<SituationResult> {
    const situation = 'a copy without the last commit';
    const config = file.commands[name];
    if (config === undefined) return skipped(situation, `another runner has the command ${name}`);
    if (repository === null) return skipped(situation, 'this folder is not in a git repository');
    const made = await withoutLastCommit(repository).catch((error: unknown) => asReason(error, signal));
    if (typeof made === 'string') return skipped(situation, made);
    const baseDir = pathInCopy(repository, made.path, await realpath(dirname(target.path))) ?? made.path;
    const cwd =
      config.cwd === 'worker' ? 'worker' : pathInCopy(repository, made.path, resolve(target.path, '..', config.cwd));
    if (cwd === null) return skipped(situation, `it runs in ${config.cwd}, outside the work tree`);
    onProgress(`running ${name} without the last commit`);
    const own = { [name]: { ...config, cwd, reuse: undefined } as CommandConfig };
    const question = () => ({ ...emptyQuestion, cwd: baseDir });
    const request: RunRequest = { kind: 'command', name, env: {}, question, cwd: baseDir, timeoutMs: null };
    const reply = await run(request, { ...target, baseDir, commands: own });
    const last = (await made.git(['log', '-1', '--format=%h %s', made.head])).trim();
    return toSituationResult(`a copy without the last commit (${last})`, reply);
  }

  async function tryGit(check: Extract<Check, { kind: 'git' }>): Promise<SituationResult[]> {
    if (repository === null) return [skipped('a changed repository', 'this folder is not in a git repository')];
    const tried: SituationResult[] = [];
    for (const aspect of gitAspects.filter(({ isAsked }) => isAsked(check))) {
      const path = await newFolder();
      try {
        const made = await copyWorkTree(repository, path, 'committed', options);
        const fault = await aspect.spoil(made, check);
        if (fault !== null) {
          tried.push(skipped(aspect.situation, fault));
          continue;
        }
        const asked = { clean: false, pushed: false, unchanged: [], since: check.since, ...aspect.ask(check) };
        const request: RunRequest = { kind: 'git', ...asked, cwd: path, timeoutMs: check.timeoutMs };
        tried.push(toSituationResult(aspect.situation, await run(request, { ...target, baseDir: path, commands: {} })));
      } catch (error) {
        tried.push(skipped(aspect.situation, asReason(error, signal)));
      } finally {
        await rm(path, { recursive: true, force: true, maxRetries: 3 });
      }
    }
    return tried;
  }

  return {
    async tryCheck(check: Check, policy: Policy): Promise<readonly SituationResult[]> {
      switch (check.kind) {
        case 'plan':
        case 'rules':
        case 'ran':
          return [tryInFold(check, policy)];
        case 'files': {
          const cwd = await newFolder();
          const request: RunRequest = { kind: 'files', files: check.files, cwd, timeoutMs: check.timeoutMs };
          return [toSituationResult('an empty folder', await run(request, { ...target, baseDir: cwd, commands: {} }))];
        }
        case 'git':
          return tryGit(check);
        case 'command': {
          const tried = commands.get(check.command) ?? tryCommand(check.command);
          commands.set(check.command, tried);
          return [await tried];
        }
        default:
          return [skipped('none', 'another process answers this check; try it with "stopgate probe"')];
      }
    },
  };
}

const skipped = (situation: string, detail: string): SituationResult => ({ situation, outcome: 'skipped', detail });

/** Returns the message of an error that only says that a situation cannot be built. */
function asReason(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  if (error instanceof AppError) return error.message;
  throw error;
}

function toSituationResult(
  situation: string,
  { outcome, reason }: Pick<TimedReply, 'outcome' | 'reason'>,
): SituationResult {
  if (outcome === 'pass') return { situation, outcome: 'passes', detail: null };
  return { situation, outcome: outcome === 'fail' ? 'fails' : 'error', detail: reason ?? null };
}

type RunContext = Pick<ControlTarget, 'file' | 'io' | 'signal'> & {
  readonly baseDir: string;
  readonly commands: Readonly<Record<string, CommandConfig>>;
};

async function run(request: RunRequest, { file, io, signal, baseDir, commands }: RunContext): Promise<TimedReply> {
  const log = createLogger('silent');
  const runner = createRunner({ roots: [baseDir], baseDir, commands, git: file.git, env: io.env, log });
  try {
    const reply = await runner.run(request, signal);
    signal.throwIfAborted();
    return reply;
  } finally {
    await runner.close();
  }
}

/** The question for a command that speaks JSON, about a worker that has done nothing. */
const emptyQuestion = {
  worker: 'control',
  task: null,
  attempt: 'control',
  agentOutput: '',
  filesModified: [],
  validationResults: [],
  completionPromises: [],
  plan: [{ title: 'Do the work', status: 'pending' }],
};

// --- git ------------------------------------------------------------------------------------------------------

type GitCheck = Extract<Check, { kind: 'git' }>;
type GitAspect = {
  readonly situation: string;
  readonly isAsked: (check: GitCheck) => boolean;
  /** Returns the check with this aspect alone, so that another one cannot fail in its place. */
  readonly ask: (check: GitCheck) => Partial<Pick<GitCheck, 'clean' | 'pushed' | 'unchanged'>>;
  /** Builds the situation. @returns why that is not possible, or null */
  readonly spoil: (copy: WorkTreeCopy, check: GitCheck) => Promise<string | null>;
};

/** The situations change tracked files, because a runner may ignore untracked ones. */
const gitAspects: readonly GitAspect[] = [
  {
    situation: 'a dirty tree',
    isAsked: ({ clean }) => clean,
    ask: () => ({ clean: true }),
    spoil: (copy) => changeFile(copy, ['**']),
  },
  {
    situation: 'a commit that is not pushed',
    isAsked: ({ pushed }) => pushed,
    ask: () => ({ pushed: true }),
    async spoil({ git }) {
      await git(['commit', '-q', '--no-verify', '--allow-empty', '-m', 'Not pushed']);
      return null;
    },
  },
  {
    situation: 'a changed file that must stay',
    isAsked: ({ unchanged }) => unchanged.length > 0,
    ask: ({ unchanged }) => ({ unchanged }),
    spoil: (copy, { unchanged }) => changeFile(copy, unchanged),
  },
];

async function changeFile({ path, git }: WorkTreeCopy, globs: readonly string[]): Promise<string | null> {
  const isWanted = matchGlobs(globs);
  const listed = (await git(['ls-files', '--stage', '-z'])).split('\0');
  const names = listed.flatMap((line) => /^100\d{3} \S+ 0\t(.+)$/s.exec(line)?.[1] ?? []);
  const name = names.find((each) => isWanted(each));
  if (name === undefined) return `no file of the repository matches ${globs.join(', ')}`;
  await appendFile(join(path, name), '\nchanged by stopgate test --control\n');
  return null;
}

// --- the fold -------------------------------------------------------------------------------------------------

type FoldCheck = Extract<Check, { kind: 'plan' | 'rules' | 'ran' }>;

const situationOf = {
  plan: 'an open step',
  rules: 'failed rules',
  ran: 'a change after which nothing has run',
} as const satisfies Record<FoldCheck['kind'], string>;

/** Folds a stop that this check must block. Turns off everything else that might decide. */
function tryInFold(check: FoldCheck, policy: Policy): SituationResult {
  const only: Policy = {
    ...policy,
    retries: null,
    stuckAfter: null,
    promises: false,
    persistence: null,
    budget: null,
    bypass: [],
    checks: [{ ...check, when: null, onFail: 'block' }],
  };
  const folded = createReplay({ policies: { ...emptyPolicySet, policies: new Map([['default', only]]) } });
  const validation = check.kind === 'rules' ? check.rules.map((rule) => ({ rule, passed: false })) : [];
  const entries = [
    ['plan.updated', { steps: [{ title: 'Do the work', status: 'pending' }] }],
    ['tool.used', { tool: 'Edit', files: ['changed.txt'] }],
    ['stop.attempted', { attempt: 'control', validation }],
  ] as const;
  for (const [index, [type, data]] of entries.entries()) {
    const at = formatIsoTime(index * 1_000);
    const fault = folded.fold(JSON.stringify({ at, subject: `stopgate.main.worker.control.${type}`, data }));
    if (fault !== null) throw new AppError('check.failed', fault);
  }
  const [decision] = folded.take();
  const situation = situationOf[check.kind];
  if (decision === undefined || !('verdicts' in decision) || decision.decision === null)
    throw new AppError('check.failed', `the stop with ${situation} was not decided`);
  const { guard } = decision.verdicts.at(-1) ?? {};
  const isBlocked = decision.decision === 'block' && guard === 'checks';
  return { situation, outcome: isBlocked ? 'fails' : 'passes', detail: isBlocked ? decision.reason : null };
}
