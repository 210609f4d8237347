/**
 * Everything that stopgate knows about a coding agent. To add an agent, add a folder that exports one of these, and a
 * line in index.ts.
 */
import type { HookAgent } from '../hook-command/agent.ts';
import type { Doctor } from './doctor/doctor.ts';
import type { Setup } from './setup/setup.ts';
import type { ReadHook } from './shared/hook-call.ts';

export type Agent = {
  /** As in `/hooks/<name>`, `stopgate hook <name>`, and the `agent` of its workers. Also the name of its folder. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** Reads, translates and answers its hook calls. */
  readonly readHook: ReadHook;
  /**
   * The agent as the hook command knows it. It must be the export of its `hook-command.ts`, which that program loads by
   * itself.
   */
  readonly hookCommand: HookAgent;
  /** Loads how `stopgate init` connects it, on demand: the service does not need it. */
  readonly setup: () => Promise<Setup>;
  /** Loads the checks of `stopgate doctor` on demand; null if there are none. */
  readonly doctor: (() => Promise<Doctor>) | null;
  /** Can the doctor run a turn of its program? */
  readonly hasDryTurn: boolean;
  /** The arguments of the command that resumes a session with a prompt. Null: it has no such command. */
  readonly resume: ((session: string, prompt: string) => readonly string[]) | null;
  /** Does a running session get the prompt of a resolution without a person's help? */
  readonly promptsResolution: boolean;
};
