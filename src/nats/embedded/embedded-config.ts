/** The configuration of the embedded server, with one user and password for each role. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { accountsOf, agentsJetStream, serverLimits } from '../accounts.ts';
import { type Role, roles } from '../permissions.ts';
import { isAtLeast } from '../server-version.ts';
import type { ServerBinary } from './server-binary.ts';

export type Credentials = { readonly user: string; readonly pass: string };
type CredentialsOfRoles = Readonly<Record<Role, Credentials>>;

const credentialsSchema = z.object({ user: z.string().min(1), pass: z.string().min(16) });

export const credentialsFile = (storeDir: string, role: Role) => join(storeDir, 'credentials', `${role}.json`);

/** Reads or creates the credentials of each role, so that copies given to runners or people stay valid. */
export async function ensureCredentials(storeDir: string): Promise<CredentialsOfRoles> {
  await mkdir(join(storeDir, 'credentials'), { recursive: true, mode: 0o700 });
  const entries = roles.map(async (role) => [role, await ensureRole(credentialsFile(storeDir, role), role)] as const);
  return Object.fromEntries(await Promise.all(entries)) as Record<Role, Credentials>;
}

async function ensureRole(file: string, role: Role): Promise<Credentials> {
  const found = await readCredentials(file);
  if (found?.user === role) {
    await chmod(file, 0o600);
    return found;
  }
  const made = { user: role, pass: randomBytes(24).toString('hex') };
  await writePrivately(file, `${JSON.stringify(made)}\n`);
  return made;
}

async function readCredentials(file: string): Promise<Credentials | undefined> {
  try {
    return credentialsSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return undefined; // missing, truncated by a crash, or edited: create new credentials
  }
}

/** Writes a file atomically with mode 0600. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, file);
}

export type ServerConfig = {
  readonly name: string;
  readonly storeDir: string;
  readonly portsDir: string;
  /** -1 means any free port. */
  readonly port: number;
  readonly fleet: string;
  readonly credentials: CredentialsOfRoles;
  /** Maximum disk usage of all streams, in bytes. */
  readonly storeBytesMax: number;
  readonly version: ServerBinary['version'];
};

/**
 * How often the server syncs to disk. A power failure loses everything since. The server's default is 2 minutes, and
 * only 2.10 and later allow another value.
 */
const syncInterval = (version: ServerBinary['version']) =>
  isAtLeast(version, [2, 10, 0]) ? { sync_interval: '10s' } : {};

/** Returns the configuration as JSON, which is a subset of the server's format. */
export function serverConfig(options: ServerConfig): string {
  const { name, storeDir, portsDir, port, fleet, credentials, storeBytesMax, version } = options;
  const members = roles.map((role) => ({
    role,
    fleet,
    everyFleet: true,
    user: credentials[role].user,
    password: credentials[role].pass,
  }));
  const config = {
    server_name: name,
    listen: `127.0.0.1:${port}`,
    logtime: false, // our log adds the time
    ports_file_dir: portsDir,
    ...serverLimits,
    // The server appends `jetstream` to `store_dir`.
    jetstream: { store_dir: storeDir, max_file_store: storeBytesMax, ...syncInterval(version) },
    no_auth_user: credentials.agent.user,
    authorization: { timeout: 30 }, // seconds; the default of 2 is too short for a client on a busy machine
    // The server reserves `max_file` of an account, and does not start if less disk is free.
    accounts: accountsOf(fleet, members, {
      ...agentsJetStream,
      max_file: Math.min(agentsJetStream.max_file, Math.floor(storeBytesMax / 4)),
    }),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
