/** Describes to `stopgate init` how an agent is connected. */
import type { Form, Line } from './line.ts';
import type { Places, Program, Scope } from './places.ts';
import type { Change } from './settings-file.ts';
import type { UsageSetup } from './usage.ts';

export type Setup = SettingsSetup | LineSetup;

/** `init` writes a file of the agent's. */
export type SettingsSetup = {
  readonly kind: 'settings';
  readonly program: Program;
  /** The first is the default. */
  readonly forms: readonly Form[];
  /** The first is the default. */
  readonly scopes: readonly Scope[];
  /** Can one of its hooks wake it (`--wake`)? */
  readonly wakes: boolean;
  /** The way to set its own cap of blocks (`--block-cap`); null: there is none. */
  readonly blockCap: SettableCap | null;
  /** Will its sessions have the tools by which they keep a plan? Null: they always do, or nothing is known of it. */
  readonly planTools: ((places: Places) => PlanTools) | null;
  /** The way to let it send its usage (`--usage`); null: there is none. */
  readonly usage: UsageSetup | null;
  /** The first is that of the hooks. Touches nothing. @throws AppError input.bad: with file, line and column if the file cannot be read */
  readonly plan: (wish: Wish) => readonly [Change, ...Change[]];
  /** It is null if its hooks need no trust. */
  readonly trust: Trust | null;
};

/** `init` writes nothing. It prints the command line that the user's script is to run. */
export type LineSetup = {
  readonly kind: 'line';
  readonly forms: readonly Form[];
  readonly commandFor: (line: Line, worker: string) => string;
  /** Tells a person how the script learns the answer. */
  readonly meaningOf: (form: Form) => string;
};

/** Blocks in a row that an agent can be told to obey. `least` 0: no cap. */
export type SettableCap = { readonly least: number; readonly most: number };

/** The change that is to be written. */
export type Wish = {
  readonly scope: Scope;
  readonly places: Places;
  readonly line: Line;
  /** It is undefined if the agent's own cap stays as it is. */
  readonly blockCap: number | undefined;
  /** Switch its plan tools on. False: they stay as they are. */
  readonly planTools: boolean;
  /** Let it send what it uses. False: that stays as it is. */
  readonly usage: boolean;
  /** Take out what is ours. */
  readonly remove: boolean;
};

/** The tools by which an agent keeps a plan. */
export type PlanTools = {
  /** `refused`: off, and the user's own setting says so. */
  readonly state: 'on' | 'off' | 'refused';
  /** Tells a person what makes it so, and where that stands. */
  readonly why: string;
  /** Switches them on. */
  readonly variable: string;
};

/** For an agent that runs only the hooks that its user has trusted. */
export type Trust = {
  /** Tells the person who is asked to agree to the change. Null: the agent is not on this machine, and nothing is trusted. */
  readonly describe: (places: Places) => string | null;
  /** Once the hooks are written. `yes`: they were trusted already; `no`: `note` tells why and what to do. */
  readonly grant: (hooks: Change, places: Places) => Promise<Granted>;
};
export type Granted = { readonly state: 'yes' | 'written' | 'no'; readonly note: string | null };
