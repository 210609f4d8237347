/** Reads from an agent's hooks how its sessions call the service, and sends the doctor's own requests. */
import { tryJson } from '../../text/json-text.ts';
import type { LocalContext } from '../setup/local-context.ts';

export type Session = {
  readonly agent: string;
  readonly cwd: string;
  /** The policy and fleet that the hooks name, or null. */
  readonly policy: string | null;
  readonly fleet: string | null;
  /** The variable that holds the hooks' token. */
  readonly tokenEnv: string;
  /** Its value here. Null if it is not set. */
  readonly token: string | null;
};

/** @param lines our hooks as text: settings or the plugin */
export function readSession(agent: string, lines: readonly string[], { cwd, env }: LocalContext): Session {
  const tokenEnv = tokenVariableIn(lines) ?? 'STOPGATE_TOKEN';
  return {
    agent,
    cwd,
    tokenEnv,
    token: env[tokenEnv] || null,
    policy: firstIn(lines, /(?:[?&]policy=|--policy[ =])([\w-]+)/) ?? null,
    fleet: firstIn(lines, /(?:[?&]fleet=|--fleet[ =])([\w-]+)/) ?? null,
  };
}

/** The token variable that a hook names. Undefined if none does; the hook command then uses `STOPGATE_TOKEN`. */
export const tokenVariableIn = (lines: readonly string[]): string | undefined =>
  firstIn(lines, /Bearer \$\{?(\w+)/) ??
  firstIn(lines, /--token-env[ =](\w+)/) ??
  firstIn(lines, /post\.pl'? +\S+ +\S+ +([A-Za-z_]\w*)/) ??
  firstIn(lines, /\btokenVariable = ["'](\w+)["']/);

function firstIn(lines: readonly string[], pattern: RegExp): string | undefined {
  for (const line of lines) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

export type Reply = {
  readonly status: number;
  /** Null if the text is not JSON. */
  readonly body: unknown;
  readonly text: string;
  readonly date: string | null;
};

const replyTimeoutMs = 5_000;

/** Resolves to the reply or, as a string, to the error code or message if there is none. */
export async function askHttp(url: string, token: string | null): Promise<Reply | string> {
  try {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const reply = await fetch(url, { headers, signal: AbortSignal.timeout(replyTimeoutMs), redirect: 'error' });
    const text = await reply.text();
    return { status: reply.status, body: tryJson(text), text, date: reply.headers.get('date') };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? (cause as Error | undefined)?.message ?? message;
  }
}
