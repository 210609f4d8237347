/** The parts of an agent that `stopgate doctor` needs. */
import type { Policy } from '../../../machines/index.ts';
import type { DayBudget } from '../../../machines/policy/budget.ts';
import type { Places, Program } from '../setup/places.ts';
import type { Answer } from './check.ts';
import type { TokenPass } from './dry-turn.ts';

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
