/** The configuration of the embedded server, with one user and password for each role. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { accountsOf, agentsJetStream, serverLimits } from '../accounts.ts';
import { type Role, roles } from '../permissions.ts';
import { isAtLeast, type ServerBinary } from './server-binary.ts';

export type Credentials = { readonly user: string; readonly pass: string };
export type CredentialsOfRoles = Readonly<Record<Role, Credentials>>;

const credentialsSchema = z.object({ user: z.string().min(1), pass: z.string().min(16) });

export const credentialsFile = (storeDir: string, role: Role) => join(storeDir, 'credentials', `${role}.json`);

/** Created once and then kept, so that what a runner or a person was given stays valid. Replaced if unreadable. */
export async function keepCredentials(storeDir: string): Promise<CredentialsOfRoles> {
  await mkdir(join(storeDir, 'credentials'), { recursive: true, mode: 0o700 });
  const kept = roles.map(async (role) => [role, await keepRole(credentialsFile(storeDir, role), role)] as const);
  return Object.fromEntries(await Promise.all(kept)) as Record<Role, Credentials>;
}

async function keepRole(file: string, role: Role): Promise<Credentials> {
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
    return undefined; // missing, cut short by a crash, or edited: replaced in each case
  }
}

/** Never readable by others, not even while it is written, and never half written. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, file);
}

export type ServerConfig = {
  readonly name: string;
  readonly storeDir: string;
  readonly portsDir: string;
  /** -1: any free port. */
  readonly port: number;
  readonly fleet: string;
  readonly credentials: CredentialsOfRoles;
  /** All streams together may use this much disk, in bytes. */
  readonly storeBytesMax: number;
  readonly version: ServerBinary['version'];
};

/** From 2.10 on it can be set; before, and by default, it is 2 minutes. What is not synced goes with the machine's power. */
const syncInterval = (version: ServerBinary['version']) =>
  isAtLeast(version, [2, 10, 0]) ? { sync_interval: '10s' } : {};

/** JSON, which the server's own format contains. */
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
    logtime: false, // our log has its own
    ports_file_dir: portsDir,
    ...serverLimits,
    // The server adds `jetstream` to the folder.
    jetstream: { store_dir: storeDir, max_file_store: storeBytesMax, ...syncInterval(version) },
    no_auth_user: credentials.agent.user,
    authorization: { timeout: 30 }, // seconds; the default of 2 is too short for a client on a busy machine
    // The server sets it aside, and does not start where there is less.
    accounts: accountsOf(fleet, members, {
      ...agentsJetStream,
      max_file: Math.min(agentsJetStream.max_file, Math.floor(storeBytesMax / 4)),
    }),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
