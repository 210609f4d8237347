/** Finds out how this user starts stopgate, so that printed commands can be copied. */
import { delimiter } from 'node:path';
import { findProgram } from '../agents/setup/local-context.ts';
import type { Environment } from '../config/environment.ts';
import type { CommandTable } from './command.ts';

/** npm adds this folder to the PATH of the programs it starts. The user's shell does not have it. */
const npmBinFolder = /[\\/]node_modules[\\/]\.bin[\\/]?$/;

/** Returns `stopgate` if it is on the user's PATH and npx did not start this process, otherwise `npx stopgate`. */
export function programName(env: Environment): 'stopgate' | 'npx stopgate' {
  if (env.npm_command === 'exec') return 'npx stopgate';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => !npmBinFolder.test(folder));
  return findProgram('stopgate', { PATH: folders.join(delimiter) }) === null ? 'npx stopgate' : 'stopgate';
}

/**
 * Rewrites the commands in a text (`stopgate decide w1`) as this user has to type them. Leaves the prefix of a message
 * (`stopgate mcp: …`) alone.
 */
export function rewriteCommands(text: string, env: Environment, commands: CommandTable): string {
  if (!text.includes('stopgate ')) return text;
  const name = programName(env);
  return text.replaceAll(
    /(?<![\w@./-]|npx )stopgate (?=([a-z-]+(?![a-z:-])|<command>|--(?:help|version)\b))/g,
    (found, word) => (/^[<-]/.test(word) || word === 'help' || Object.hasOwn(commands, word) ? `${name} ` : found),
  );
}
