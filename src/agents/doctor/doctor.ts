/**
 * Types and helpers for `stopgate doctor`. Checks are written as tables: each row is a named check that answers with
 * what it found and how to fix it.
 */
import type { Policy } from '../../../machines/index.ts';
import type { DayBudget } from '../../../machines/policy/budget.ts';
import type { LocalContext, Program } from '../setup/local-context.ts';

export type Doctor = {
  readonly find: (places: LocalContext) => Connection;
};

/** How an agent on this machine is connected to stopgate. */
export type Connection = {
  /** The scopes of the settings that contain our hooks (`user`, `project` …). Empty if the agent is not connected. */
  readonly scopes: readonly string[];
  /** Settings that cannot be read, or that turn hooks off. */
  readonly problems: readonly Answer[];
  readonly check: (context: CheckContext) => Promise<Answer[]>;
  /** Our hooks as text, from which address, policy, fleet and token variable are read. */
  readonly lines: readonly string[];
  /** Runs one turn of the agent's real program. Null if the doctor cannot run this agent. */
  readonly dryTurn: ((options: DryTurnOptions) => Promise<Answer>) | null;
};

export type DryTurnOptions = {
  readonly binary: string;
  /** PATH for the program. */
  readonly path: string;
  readonly pass: TokenPass | null;
  /** Ends the program, and with it the turn. */
  readonly signal: AbortSignal;
};

export type CheckContext = {
  readonly agent: { readonly name: string; readonly title: string; readonly program: Program };
  /** The program's path. Null if it is not on PATH. */
  readonly binary: string | null;
  readonly places: LocalContext;
  /** The service's address that hooks should call. */
  readonly url: string;
  readonly needsToken: boolean;
  /** Null if unknown. */
  readonly policies: ReadonlyMap<string, Policy> | null;
  /** The fleet's budget for one day. Null if there is none or it is unknown. */
  readonly dayBudget: DayBudget | null;
  /** True if a dry turn follows. */
  readonly runsDryTurn: boolean;
};

/** The hooks' token, which the program of a dry turn gets in its environment. */
export type TokenPass = {
  readonly variable: string;
  readonly value: string;
  /**
   * Resolves to null if the service accepts the token that a hook sent, otherwise to the problem. `sent` is null if the
   * hook sent none.
   */
  readonly refusalOf: (sent: string | null) => Promise<Answer | null>;
};

/** One line of the doctor's report. */
export type Finding = Answer & {
  /** `service` or an agent's name. */
  readonly about: string;
};
export type Answer = {
  /** `warn`: works, but perhaps not as expected. `skip`: not checked. */
  readonly state: 'ok' | 'warn' | 'bad' | 'skip';
  readonly text: string;
  readonly fix?: string;
};

export const ok = (text: string): Answer => ({ state: 'ok', text });
export const warn = (text: string, fix: string): Answer => ({ state: 'warn', text, fix });
export const bad = (text: string, fix: string): Answer => ({ state: 'bad', text, fix });
export const skip = (text: string): Answer => ({ state: 'skip', text });

type Answers = Answer | readonly Answer[];
/** Checks by name. An empty list means that there is nothing to check. */
export type Checks<Subject> = Readonly<Record<string, (subject: Subject) => Answers | Promise<Answers>>>;

/** Runs the checks one at a time, because each may start a program. */
export async function runChecks<Subject>(checks: Checks<Subject>, subject: Subject): Promise<Answer[]> {
  const found: Answer[] = [];
  for (const check of Object.values(checks)) found.push(...[await check(subject)].flat());
  return found;
}

export const findingsAbout = (about: string, answers: readonly Answer[]): Finding[] =>
  answers.map(({ state, ...rest }) => ({ state, about, ...rest }));
