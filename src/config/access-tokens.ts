/**
 * The HTTP tokens: their names, permissions and secrets. stopgate.yaml contains no secret, and nobody can sign in with
 * a hash from it: the hash is derived from the session that a browser keeps, which is derived from the token.
 */
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Environment, readVariable } from './environment.ts';
import { isToken, tokenFault } from './values.ts';

/** Each role includes the permissions of the role before it. */
export const accessRoles = ['read', 'agent', 'operator'] as const;
export type AccessRole = (typeof accessRoles)[number];

/** `file` is an absolute path. */
export type TokenSource = { readonly env: string } | { readonly file: string } | { readonly hashes: readonly string[] };
export type TokenConfig = {
  readonly name: string;
  readonly role: AccessRole;
  /** Ids and patterns; null for every worker. */
  readonly workers: readonly string[] | null;
  /** Names and patterns; null for every fleet. */
  readonly fleets: readonly string[] | null;
  readonly source: TokenSource;
};
/** Any of its `hashes` is valid. `name` is null for the token of `--token`, which many people may share. */
export type AccessToken = Pick<TokenConfig, 'role' | 'workers' | 'fleets'> & {
  readonly name: string | null;
  readonly hashes: readonly string[];
};
type Fault = { readonly name: string; readonly message: string };

/**
 * Derives the session that a browser keeps instead of the token. Useless on NATS, where the token may be a password.
 */
export const sessionOf = (token: string): string =>
  createHmac('sha256', token).update('stopgate session').digest('hex');
export const hashOfSession = (session: string): string =>
  `sha256:${createHash('sha256').update(session).digest('hex')}`;
/** Derives the hash that stopgate.yaml may contain instead of the token. */
export const hashOfToken = (token: string): string => hashOfSession(sessionOf(token));

/** Reads the secrets of the tokens. Leaves out tokens with faults. */
export function readTokens(
  configured: readonly TokenConfig[],
  env: Environment,
): { readonly tokens: readonly AccessToken[]; readonly faults: readonly Fault[] } {
  const tokens: AccessToken[] = [];
  const faults: Fault[] = [];
  const owners = new Map<string, string>();
  for (const { name, role, workers, fleets, source } of configured) {
    const read = readSource(source, env);
    const owner = typeof read === 'string' ? undefined : read.map((hash) => owners.get(hash)).find(Boolean);
    if (typeof read === 'string') faults.push({ name, message: read });
    else if (owner !== undefined) faults.push({ name, message: `has the same secret as "${owner}"` });
    else {
      for (const hash of read) owners.set(hash, name);
      tokens.push({ name, role, workers, fleets, hashes: read });
    }
  }
  return { tokens, faults };
}

/** Returns the hashes, or a description of the fault. */
function readSource(source: TokenSource, env: Environment): readonly string[] | string {
  if ('hashes' in source) return source.hashes;
  if ('file' in source) return readTokenFile(source.file);
  const token = readVariable(source.env, env);
  if (token === undefined) return `variable "${source.env}" is not set`;
  return isToken(token) ? [hashOfToken(token)] : `variable "${source.env}": ${tokenFault}`;
}

function readTokenFile(path: string): readonly string[] | string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `cannot read '${path}': ${code === 'ENOENT' ? 'there is no such file' : message}`;
  }
  const lines = text.split('\n').map((line) => line.trim());
  const secrets = lines.filter((line) => line !== '');
  if (secrets.length === 0) return `'${path}' is empty`;
  return secrets.every(isToken) ? secrets.map(hashOfToken) : `'${path}': ${tokenFault}`;
}
