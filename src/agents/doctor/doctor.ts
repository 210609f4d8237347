/**
 * The parts of an agent that `stopgate doctor` needs, and how its checks are written: as tables. A row has the name of what
 * it asks, and answers with what was found and how to fix it. One runner asks them in their order, and says whom they are
 * about.
 */
import type { Policy } from '../../../machines/index.ts';
import type { DayBudget } from '../../../machines/policy/budget.ts';
import type { Places, Program } from '../setup/places.ts';

export type Doctor = {
  readonly find: (places: Places) => Connection;
};

/** The connection of the agent to stopgate here. */
export type Connection = {
  /** The scopes of the settings that our hooks stand in (`user`, `project` …). Empty: it is not connected. */
  readonly scopes: readonly string[];
  /** Settings that cannot be read, or that switch all hooks off. */
  readonly problems: readonly Answer[];
  readonly check: (context: CheckContext) => Promise<Answer[]>;
  /** Our hooks, as text: their address, policy, fleet and token are in it. */
  readonly lines: readonly string[];
  /** One turn of the agent's real program. `path`: the PATH that it gets. Null: it has none. */
  readonly dryTurn: ((binary: string, path: string, pass: TokenPass | null) => Promise<Answer>) | null;
};

export type CheckContext = {
  readonly agent: { readonly name: string; readonly title: string; readonly program: Program };
  /** The program's path. Null: it is not on PATH. */
  readonly binary: string | null;
  readonly places: Places;
  /** The service's address, as hooks should have it. */
  readonly url: string;
  readonly needsToken: boolean;
  /** It is null if they are not known. */
  readonly policies: ReadonlyMap<string, Policy> | null;
  /** The budget of all workers of the fleet for one day. Null: there is none, or it is not known. */
  readonly dayBudget: DayBudget | null;
  /** A dry turn comes next. */
  readonly runsDryTurn: boolean;
};

/** The token of the hooks: the program gets it in its environment, as where the user starts it. */
export type TokenPass = {
  readonly variable: string;
  readonly value: string;
  /**
   * Resolves to what is wrong with the token that a hook has sent (null: it sent none), or to null if the service takes
   * it.
   */
  readonly refusalOf: (sent: string | null) => Promise<Answer | null>;
};

/** A line of the doctor's report, and how to fix what it reports. */
export type Finding = Answer & {
  /** `service`, or an agent's name. */
  readonly about: string;
};
export type Answer = {
  /** `warn`: it works, but maybe not as expected. `skip`: not checked. */
  readonly state: 'ok' | 'warn' | 'bad' | 'skip';
  readonly text: string;
  readonly fix?: string;
};

export const ok = (text: string): Answer => ({ state: 'ok', text });
export const warn = (text: string, fix: string): Answer => ({ state: 'warn', text, fix });
export const bad = (text: string, fix: string): Answer => ({ state: 'bad', text, fix });
export const skip = (text: string): Answer => ({ state: 'skip', text });

type Answers = Answer | readonly Answer[];
/** Rows by their names. No answer: there is nothing to check. */
export type Checks<Subject> = Readonly<Record<string, (subject: Subject) => Answers | Promise<Answers>>>;

/** Asks one row after the other: each may start a program. */
export async function runChecks<Subject>(checks: Checks<Subject>, subject: Subject): Promise<Answer[]> {
  const found: Answer[] = [];
  for (const ask of Object.values(checks)) found.push(...[await ask(subject)].flat());
  return found;
}

export const findingsAbout = (about: string, answers: readonly Answer[]): Finding[] =>
  answers.map(({ state, ...rest }) => ({ state, about, ...rest }));
