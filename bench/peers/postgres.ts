/** Postgres with its defaults: each commit is on disk before it is acknowledged. */
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readEnvironment } from '../../src/config/environment.ts';
import { cpuUsOf, processTree } from '../process-cpu.ts';
import { install, packageFile, postgresBinaries, requireFrom } from './cache.ts';
import { closeLater, freePort, waitFor } from './child-server.ts';
import { type PeerContext, PeerMissing } from './peer.ts';

/** The used part of the module `pg`. */
type Pool = {
  query(query: string | { name: string; text: string; values: readonly string[] }): Promise<{ rows: Row[] }>;
  on(event: 'error', listener: () => void): void;
  end(): Promise<void>;
};
type Row = { readonly reply?: string };

export type Database = {
  /** One call is one transaction and one round trip. */
  call(name: 'report' | 'stop', worker: string, data: string): Promise<string>;
  close(): Promise<void>;
};

/** One connection per concurrent agent. */
const connectionsMax = 64;
/** Postgres refuses to run as root. */
const nobody = 65_534;

const schema = `
create table worker (id text primary key, attempts int not null default 0, tools int not null default 0);
create table entry (id bigserial primary key, at timestamptz not null default now(), worker text, type text, data text);
create function report(w text, d text) returns text language plpgsql as $$
begin
  insert into entry (worker, type, data) values (w, 'tool.used', d);
  insert into worker as it (id, tools) values (w, 1) on conflict (id) do update set tools = it.tools + 1;
  return '{}';
end $$;
create function stop(w text, d text) returns text language plpgsql as $$
declare n int; reply text;
begin
  insert into entry (worker, type, data) values (w, 'stop.attempted', d);
  insert into worker as it (id, attempts) values (w, 1)
    on conflict (id) do update set attempts = it.attempts + 1 returning attempts into n;
  reply := json_build_object('decision', 'allow', 'cause', 'complete', 'attempt', n)::text;
  insert into entry (worker, type, data) values (w, 'decision', reply);
  return reply;
end $$;
`;

export function openDatabase(cache: string, url: string): Database {
  const pool = openPool(cache, url);
  return {
    async call(name, worker, data) {
      const { rows } = await pool.query({ name, text: `select ${name}($1, $2) as reply`, values: [worker, data] });
      return rows[0]?.reply ?? '';
    },
    close: () => pool.end(),
  };
}

function openPool(cache: string, url: string): Pool {
  const { Pool } = requireFrom<{ Pool: new (options: object) => Pool }>(cache, 'pg');
  const pool = new Pool({ connectionString: url, max: connectionsMax });
  pool.on('error', () => undefined); // an idle connection whose server has ended
  return pool;
}

/** @throws PeerMissing */
export async function openPostgres(context: PeerContext): Promise<{ readonly url: string; cpuUs(): number }> {
  install(context.cache, 'pg');
  const home = join(context.folder, 'postgres');
  const data = join(home, 'data');
  mkdirSync(home, { recursive: true });
  const bin = findBinaries(context.cache, home);
  const isRoot = process.getuid?.() === 0;
  const as = { ...(isRoot ? { uid: nobody, gid: nobody } : {}), cwd: home };
  if (isRoot) for (const folder of [context.folder, home]) chownSync(folder, nobody, nobody);
  const options = ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  const { status, stderr } = spawnSync(join(bin, 'initdb'), options, { ...as, encoding: 'utf8' });
  if (status !== 0) throw new PeerMissing(`initdb of ${bin} failed: ${stderr?.trim().split('\n').at(-1)}`);
  const port = await freePort();
  const args = ['-D', data, '-k', home, '-p', `${port}`, '-c', 'max_connections=200'];
  const server = spawn(join(bin, 'postgres'), args, { ...as, stdio: 'ignore' });
  closeLater(context, server, 'SIGINT'); // the fast shutdown, without waiting for clients
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  const pool = openPool(context.cache, url);
  await waitFor('Postgres', server, () => pool.query('select 1'));
  await pool.query(schema);
  await pool.end();
  const pid = server.pid ?? 0;
  return { url, cpuUs: () => processTree(pid).reduce((sum, each) => sum + cpuUsOf(each), 0) };
}

/** Finds the system's binaries, otherwise those of npm. @returns the folder of `initdb` and `postgres` */
function findBinaries(cache: string, home: string): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(readEnvironment().PATH ?? '').split(':'),
  ];
  const found = folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))));
  if (found !== undefined) return found;
  install(cache, postgresBinaries);
  // A copy, since other users may not read root's cache. Adds the links, which npm packages cannot contain.
  const copy = join(home, 'program');
  cpSync(dirname(packageFile(cache, postgresBinaries, 'package.json')), copy, { recursive: true });
  const links = JSON.parse(readFileSync(join(copy, 'native', 'pg-symlinks.json'), 'utf8')) as Link[];
  for (const { source, target } of links) cpSync(join(copy, source), join(copy, target));
  return join(copy, 'native', 'bin');
}

type Link = { readonly source: string; readonly target: string };
