/**
 * `stopgate acp`: starts the agent and relays between it and the editor on our stdin and stdout until one of them ends.
 */
import type { Readable, Writable } from 'node:stream';
import { cannotRun, type GroupEnd, killAtExit, startGroup } from '../runner/process-group.ts';
import { createInterruption, startTimer, within } from '../timer.ts';
import { createLineWriter, readLines } from './lines.ts';
import { createRelay } from './relay.ts';
import { createSessions, type SessionsOptions } from './sessions.ts';

export type AcpOptions = Pick<SessionsOptions, 'policy' | 'open' | 'note' | 'cwd'> & {
  /** The agent's command line. */
  readonly command: readonly [string, ...string[]];
  readonly env: Record<string, string>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Receives the agent's stderr. */
  readonly stderr: Writable;
  /** Ends both sides. */
  readonly signal: AbortSignal;
};

/** Time for an agent to save its session after the editor has gone. */
const graceMs = 3_000;
const drainMs = 500;

/** Which side ended the session. */
export type AcpEnd =
  | { readonly by: 'agent'; readonly end: GroupEnd }
  | { readonly by: 'editor' }
  | { readonly by: 'signal' };

/** @throws AppError input.bad if the agent cannot be started, or a side sends a line that is too long */
export async function serveAcp(options: AcpOptions): Promise<AcpEnd> {
  const { command, cwd, env, stdin, stdout, stderr, signal, note } = options;
  const kill = new AbortController();
  const stop = createInterruption(Number.POSITIVE_INFINITY, AbortSignal.any([kill.signal, signal]));
  const sessions = createSessions(options);
  let talk: Promise<'editor' | 'agent'> = new Promise(() => {});
  const converse = (agentStdin: Writable, agentStdout: Readable) => {
    const editor = createLineWriter(stdout);
    const agent = createLineWriter(agentStdin);
    const relay = createRelay({ editor, agent, sessions, note });
    talk = Promise.race([
      pump(stdin, 'the editor', relay.fromEditor).then(() => 'editor' as const),
      editor.closed.then(() => 'editor' as const),
      pump(agentStdout, 'the agent', relay.fromAgent).then(() => 'agent' as const),
    ]).finally(() => {
      relay.close();
      // A well-behaved agent exits when its stdin closes.
      agentStdin.end();
    });
    talk.catch(() => {}); // awaited below, unless the agent exits first
  };
  const group = startGroup({ run: command, cwd, env, converse, onOutput: (_, chunk) => stderr.write(chunk) }, stop);
  const spare = killAtExit(group);
  try {
    const first = await Promise.race([talk, group.ended]);
    const grace = startTimer(graceMs, () => kill.abort());
    const end = await group.ended.finally(grace.clear);
    if (end.by === 'refused') throw cannotRun(command[0], end.code);
    if (signal.aborted) return { by: 'signal' };
    if (first === 'editor') return { by: 'editor' };
    // Wait until the agent's last messages are written.
    await within(drainMs, talk);
    return { by: 'agent', end };
  } finally {
    kill.abort();
    await group.gone;
    spare();
    stop.clear();
    await sessions.close();
    stdin.destroy();
  }
}

async function pump(from: Readable, who: string, onLine: (line: Buffer) => Promise<void>): Promise<void> {
  for await (const line of readLines(from, who)) await onLine(line);
}
