/** The contents of stopgate.yaml, and the defaults without one. `file-reader.ts` reads it. */
import { dirname, resolve } from 'node:path';
import type { PolicySet } from '../../machines/index.ts';
import { forgetMsDefault, unattendedMsDefault, waitingMsDefault } from '../../machines/values/limits.ts';
import type { TokenConfig } from './access-tokens.ts';

/**
 * `run`: program and arguments, no shell; a program with a slash is found from the command's folder, else by PATH. `cwd`:
 * `worker` is the folder of the worker that stops; otherwise an absolute path.
 */
export type CommandConfig = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: 'worker' | (string & {});
  readonly timeoutMs: number;
  readonly feedback: 'tail' | 'json' | 'none';
  /** Names of the service's variables that it gets beside the basic ones. */
  readonly inherit?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** `tree`: it is not run again while the git state of its folder is the one in which it passed. */
  readonly reuse?: 'tree' | undefined;
  /** `json`: it reads the request of a remote check on stdin, and its stdout is the reply (protocol.md §8). */
  readonly speaks?: 'json' | undefined;
  /** With `speaks: json`: the request has the changes in the worker's folder as `diff`. */
  readonly diff?: boolean | undefined;
};

/** The payload of a `policy.set` entry: the configuration's own form, exactly as written. */
export type PolicyForm = {
  readonly policies: Readonly<Record<string, unknown>>;
  readonly assign?: readonly unknown[] | undefined;
  readonly budget?: unknown;
  readonly releaseAfter?: unknown;
  readonly forget?: unknown;
  /** The part of `escalation:` that the fold reads. */
  readonly escalation?: { readonly waiting?: unknown; readonly unattended?: unknown };
};

/** `remindMs` null: never again. */
export type EscalationConfig = {
  readonly remindMs: number | null;
  readonly webhook: {
    readonly url: string;
    /** The variable that holds the secret; null: unsigned. */
    readonly secretEnv: string | null;
    /** Tells whether it may post to private addresses; null: as far as the service itself is private. */
    readonly allowPrivate: boolean | null;
    /**
     * People reach the service at `url` to answer requests, and the answers are `by`; it is null if no links are sent.
     */
    readonly links: { readonly url: string; readonly by: string } | null;
  } | null;
};

/** How much of the log is kept. A bound of null is no limit. `archive`: the absolute path of a folder; null: what is cut is gone. */
export type RetentionRules = {
  readonly forMs: number | null;
  readonly bytesMax: number | null;
  readonly archive: string | null;
};

export const concurrencyDefault = 8;

/** Which untracked entries of a work tree are uncommitted work, for `git` checks of this service or runner. */
export type GitConfig = { readonly untracked: 'count' | 'ignore'; readonly worktrees: 'count' | 'ignore' };
export const gitDefault: GitConfig = { untracked: 'count', worktrees: 'count' };

/** A field is null if the file does not have it. All paths are absolute. */
export type ConfigFile = {
  readonly fleet: string | null;
  /** Names and patterns, as `--fleets` takes them. */
  readonly fleets: readonly string[] | null;
  readonly nats: string | null;
  readonly creds: string | null;
  /** The address as `--http` takes it. */
  readonly http: string | null;
  readonly publicUrl: string | null;
  /** Absolute paths. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** The tokens for HTTP, beside that of `--token`. */
  readonly tokens: readonly TokenConfig[];
  readonly replica: string | null;
  readonly policySet: PolicySet;
  /**
   * It is null if the file has none of `policies`, `assign`, `budget`, `releaseAfter`, `forget`, `escalation.waiting` and
   * `escalation.unattended`, so it does not change them.
   */
  readonly policyForm: PolicyForm | null;
  /** At least one: by default the folder of the file. */
  readonly roots: readonly string[];
  /** This many commands run at the same time; the others wait. */
  readonly concurrency: number;
  readonly git: GitConfig;
  /** The commands by name. The object has no prototype, so that every unknown name is undefined. */
  readonly commands: Readonly<Record<string, CommandConfig>>;
  readonly escalation: EscalationConfig | null;
  readonly retention: RetentionRules;
  /** The prefixes in addition to `_INBOX.` and `_R_.`; each ends in a dot. */
  readonly replyPrefixes: readonly string[];
};

/** Returns what an empty file at `path` gives, without loading the YAML parser. */
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
