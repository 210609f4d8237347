/** Types with which an agent describes to `stopgate init` how it is connected. */
import type { Form, Line } from './line.ts';
import type { LocalContext, Program, Scope } from './local-context.ts';
import type { Change } from './settings-file.ts';
import type { UsageSetup } from './usage.ts';

export type Setup = SettingsSetup | LineSetup;

/** An agent for which `init` writes settings. */
export type SettingsSetup = {
  readonly kind: 'settings';
  readonly program: Program;
  /** The first is the default. */
  readonly forms: readonly Form[];
  /** The first is the default. */
  readonly scopes: readonly Scope[];
  /** True if a hook can wake it (`--wake`). */
  readonly wakes: boolean;
  /** The range of its own limit of consecutive blocks (`--block-cap`). Null if it cannot be set. */
  readonly blockCap: SettableCap | null;
  /** Tells whether its sessions will have plan tools. Null if they always do, or if that is unknown. */
  readonly planTools: ((places: LocalContext) => PlanTools) | null;
  /** How to make it report its usage (`--usage`). Null if it cannot. */
  readonly usage: UsageSetup | null;
  /**
   * Plans the changes without writing anything. The first is the file with the hooks.
   * @throws AppError input.bad if a file cannot be read or parsed, with file, line and column
   */
  readonly plan: (request: SetupRequest) => readonly [Change, ...Change[]];
  /** The settings that have our hooks. Missing if only one scope can have them. */
  readonly connected?: (places: LocalContext) => readonly ConnectedScope[];
  /** Tells a person which other programs run the hooks of these settings. Null if none do. */
  readonly alsoRunBy?: (line: Line) => string | null;
  /** Null if its hooks need no trust. */
  readonly trust: Trust | null;
};

export type ConnectedScope = { readonly scope: Scope; readonly file: string };

/** An agent for which `init` writes nothing, but prints the command that the user's script must run. */
export type LineSetup = {
  readonly kind: 'line';
  readonly forms: readonly Form[];
  readonly commandFor: (line: Line, worker: string) => string;
  /** Explains to a person how the script gets the answer. */
  readonly meaningOf: (form: Form) => string;
};

/**
 * The range in which an agent's limit of consecutive blocks can be set. A `least` of 0 means that it can be disabled.
 */
export type SettableCap = { readonly least: number; readonly most: number };

/** The changes that the user asked for. */
export type SetupRequest = {
  readonly scope: Scope;
  readonly places: LocalContext;
  readonly line: Line;
  /** Undefined leaves the agent's own limit unchanged. */
  readonly blockCap: number | undefined;
  /** Turns its plan tools on. False leaves them unchanged. */
  readonly planTools: boolean;
  /** Only makes it report its usage, and leaves its hooks as they are. */
  readonly usage: boolean;
  /** Removes everything that we added. */
  readonly remove: boolean;
};

/** Whether an agent's sessions have plan tools. */
export type PlanTools = {
  /** `refused` if the user has turned them off explicitly. */
  readonly state: 'on' | 'off' | 'refused';
  /** Explains to a person which setting decides, and in which file. */
  readonly why: string;
  /** The environment variable that turns them on. */
  readonly variable: string;
};

/** For an agent that runs only the hooks that its user has trusted. */
export type Trust = {
  /**
   * A sentence for the person who confirms the change. Null if the agent is not installed, so nothing can be trusted.
   */
  readonly describe: (places: LocalContext) => string | null;
  /** Called after the hooks are written. */
  readonly grant: (hooks: Change, places: LocalContext) => Promise<TrustResult>;
};
/** `yes`: already trusted. `written`: trusted now. `no`: not trusted; `note` says why and what to do. */
export type TrustResult = { readonly state: 'yes' | 'written' | 'no'; readonly note: string | null };
