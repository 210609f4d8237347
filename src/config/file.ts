/** What stopgate.yaml says, once it is read; and what holds where there is none. `file-reader.ts` reads it. */
import { dirname, resolve } from 'node:path';
import type { PolicySet } from '../../machines/index.ts';
import { forgetMsDefault } from '../../machines/values/limits.ts';

/** `cwd`: `worker` is the folder of the worker that stops; else an absolute path. The first of `run` is the program. */
export type CommandConfig = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: 'worker' | string;
  readonly timeoutMs: number;
  readonly feedback: 'tail' | 'json' | 'none';
  readonly env?: Readonly<Record<string, string>>;
};

/** What a `policy.set` entry carries: the configuration's own form, exactly as written. */
export type PolicyForm = {
  readonly policies: Readonly<Record<string, unknown>>;
  readonly assign?: readonly unknown[];
  readonly releaseAfter?: unknown;
  readonly forget?: unknown;
};

/** `remindMs` null: never again. `secretEnv`: the variable that holds the secret; null: unsigned. */
export type EscalationConfig = {
  readonly remindMs: number | null;
  readonly webhook: { readonly url: string; readonly secretEnv: string | null } | null;
};

export const concurrencyDefault = 8;

/** Null is what the file does not say. All paths are absolute. */
export type ConfigFile = {
  readonly fleet: string | null;
  readonly nats: string | null;
  readonly creds: string | null;
  /** As `--http` takes it. */
  readonly http: string | null;
  readonly replica: string | null;
  readonly policySet: PolicySet;
  /** Null: the file has none of `policies`, `assign`, `releaseAfter` and `forget`, so it has no say in them. */
  readonly policyForm: PolicyForm | null;
  /** At least one: the folder of the file where it names none. */
  readonly roots: readonly string[];
  /** How many commands run at the same time; the others wait. */
  readonly concurrency: number;
  /** Without a prototype, so a name that is not there is undefined, whatever it is. */
  readonly commands: Readonly<Record<string, CommandConfig>>;
  readonly escalation: EscalationConfig | null;
  /** Beside `_INBOX.` and `_R_.`; each ends in a dot. */
  readonly replyPrefixes: readonly string[];
};

/** As an empty file at `path` would be read, without what it takes to read one. */
export const emptyConfigFile = (path: string): ConfigFile =>
  Object.freeze({
    ...{ fleet: null, nats: null, creds: null, http: null, replica: null },
    policySet: { policies: new Map(), assign: [], releaseAfterMs: null, forgetMs: forgetMsDefault },
    policyForm: null,
    roots: [dirname(resolve(path))],
    concurrency: concurrencyDefault,
    commands: Object.create(null) as ConfigFile['commands'],
    escalation: null,
    replyPrefixes: [],
  });
