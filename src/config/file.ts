/** The types of stopgate.yaml's contents, and the defaults. `file-reader.ts` reads the file. */
import { dirname, resolve } from 'node:path';
import type { PolicySet } from '../../machines/index.ts';
import { forgetMsDefault, unattendedMsDefault, waitingMsDefault } from '../../machines/values/limits.ts';
import type { TokenConfig } from './access-tokens.ts';

/**
 * `run`: program and arguments, without a shell. A program with a slash is relative to the command's folder, others are
 * found on PATH. `cwd`: `worker` for the folder of the worker that stops, otherwise an absolute path.
 */
export type CommandConfig = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: 'worker' | (string & {});
  readonly timeoutMs: number;
  readonly feedback: 'tail' | 'json' | 'none';
  /** Variables of the service to pass on, in addition to the basic ones. */
  readonly inherit?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** `tree`: do not run again until the git state of its folder differs from the one in which it passed. */
  readonly reuse?: 'tree' | undefined;
  /** `json`: reads the request of a remote check on stdin and prints the reply (protocol.md §8). */
  readonly speaks?: 'json' | undefined;
  /** With `speaks: json`: the request includes the changes in the worker's folder as `diff`. */
  readonly diff?: boolean | undefined;
};

/** The payload of a `policy.set` entry: the policies exactly as written in the configuration. */
export type PolicyForm = {
  readonly policies: Readonly<Record<string, unknown>>;
  readonly assign?: readonly unknown[] | undefined;
  readonly budget?: unknown;
  readonly releaseAfter?: unknown;
  readonly forget?: unknown;
  /** The part of `escalation:` that the fold reads. */
  readonly escalation?: { readonly waiting?: unknown; readonly unattended?: unknown };
};

/** `remindMs` null: no reminders. */
export type EscalationConfig = {
  readonly remindMs: number | null;
  readonly webhook: {
    readonly url: string;
    /** The variable with the secret; null for unsigned webhooks. */
    readonly secretEnv: string | null;
    /** Whether it may post to private addresses. Null: only if the service itself is private. */
    readonly allowPrivate: boolean | null;
    /** `url`: where people reach the service. `by`: the operator name of answers. Null: no links are sent. */
    readonly links: { readonly url: string; readonly by: string } | null;
  } | null;
};

/**
 * How much of the log to keep; null for no limit. `archive`: absolute path of a folder; null to discard removed
 * entries.
 */
export type RetentionRules = {
  readonly forMs: number | null;
  readonly bytesMax: number | null;
  readonly archive: string | null;
};

export const concurrencyDefault = 8;

/** Which untracked files and worktrees count as uncommitted work in `git` checks. */
export type GitConfig = { readonly untracked: 'count' | 'ignore'; readonly worktrees: 'count' | 'ignore' };
export const gitDefault: GitConfig = { untracked: 'count', worktrees: 'count' };

/** Fields missing in the file are null. All paths are absolute. */
export type ConfigFile = {
  readonly fleet: string | null;
  /** Names and patterns, as for `--fleets`. */
  readonly fleets: readonly string[] | null;
  readonly nats: string | null;
  readonly creds: string | null;
  /** The address, as for `--http`. */
  readonly http: string | null;
  readonly publicUrl: string | null;
  /** Absolute paths. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** The tokens for HTTP, in addition to the one of `--token`. */
  readonly tokens: readonly TokenConfig[];
  readonly replica: string | null;
  readonly policySet: PolicySet;
  /**
   * Null if the file has none of `policies`, `assign`, `budget`, `releaseAfter`, `forget`, `escalation.waiting` and
   * `escalation.unattended`. Then those in the log stay in force.
   */
  readonly policyForm: PolicyForm | null;
  /** Never empty. Default: the folder of the file. */
  readonly roots: readonly string[];
  /** Maximum number of commands that run at the same time. */
  readonly concurrency: number;
  readonly git: GitConfig;
  /** Has no prototype, so that every unknown name is undefined. */
  readonly commands: Readonly<Record<string, CommandConfig>>;
  readonly escalation: EscalationConfig | null;
  readonly retention: RetentionRules;
  /** In addition to `_INBOX.` and `_R_.`. Each ends in a dot. */
  readonly replyPrefixes: readonly string[];
};

/** The configuration of an empty file at `path`. Does not load the YAML parser. */
export const emptyConfigFile = (path: string): ConfigFile =>
  Object.freeze({
    fleet: null,
    fleets: null,
    nats: null,
    creds: null,
    http: null,
    publicUrl: null,
    tls: null,
    tokens: [],
    replica: null,
    policySet: {
      policies: new Map(),
      assign: [],
      budget: null,
      releaseAfterMs: null,
      forgetMs: forgetMsDefault,
      waitingMs: waitingMsDefault,
      unattendedMs: unattendedMsDefault,
    },
    policyForm: null,
    roots: [dirname(resolve(path))],
    concurrency: concurrencyDefault,
    git: gitDefault,
    commands: Object.create(null) as ConfigFile['commands'],
    escalation: null,
    retention: { forMs: null, bytesMax: null, archive: null },
    replyPrefixes: [],
  });
