/** The inspector's page and its files, as the build left them: read once at the start, and held in memory. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

/** Everything is ours, and nothing is in line: whatever an agent calls itself can load and run nothing. */
const contentSecurityPolicy =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

type PageFile = { readonly type: string; readonly raw: Buffer; readonly zipped: Buffer; readonly etag: string };

/** Files of this page hold no data, so they are given without a token: the page itself asks for it. */
export const isPageRequest = ({ method, headers, routeOptions: { url = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (url === '/assets/:file' || url === '/favicon.ico' || (url === '/' && isBrowser(headers.accept)));

/** Who asks for plain text alone gets the list of endpoints, which is also at `/api`. */
const wantsPage = (accept = '*/*'): boolean => isBrowser(accept) || accept.includes('*/*');
const isBrowser = (accept: string | undefined): boolean => accept?.includes('text/html') === true;

/** @param plain what `GET /` answers to who asks for no page */
export function addInspectorPage(app: FastifyInstance, plain: string): void {
  const files = readFiles();
  app.get('/', async (request, reply) => {
    reply.header('vary', 'accept');
    if (!wantsPage(request.headers.accept)) return reply.type('text/plain; charset=utf-8').send(plain);
    return send(request, reply, files, 'index.html', 'no-cache');
  });
  // Their names have the hash of what they hold.
  app.get<{ Params: { file: string } }>('/assets/:file', async (request, reply) =>
    send(request, reply, files, `assets/${request.params.file}`, 'public, max-age=31536000, immutable'),
  );
  app.get('/favicon.ico', async (request, reply) => send(request, reply, files, 'icon.svg', 'public, max-age=86400'));
}

function send(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  files: ReadonlyMap<string, PageFile>,
  name: string,
  cacheControl: string,
): FastifyReply {
  const file = files.get(name);
  if (file === undefined) {
    const words = files.size === 0 ? 'the inspector was not built: run "npm run build"' : `there is no file ${name}`;
    throw new AppError('actor.unknown', words);
  }
  const { type, etag, raw, zipped } = file;
  reply.headers({ 'content-security-policy': contentSecurityPolicy, 'cache-control': cacheControl, etag });
  reply.header('vary', 'accept, accept-encoding').header('referrer-policy', 'no-referrer');
  if (headers['if-none-match'] === etag) return reply.code(304).send();
  const takesZipped = headers['accept-encoding']?.includes('gzip') === true;
  if (takesZipped) reply.header('content-encoding', 'gzip');
  return reply.type(type).send(takesZipped ? zipped : raw);
}

function readFiles(): ReadonlyMap<string, PageFile> {
  // Beside us where we are built, and in dist where we run from the sources, as tests do.
  const folder = ['../../inspector', '../../dist/inspector']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, 'index.html')));
  if (folder === undefined) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    names
      .filter((name) => Object.hasOwn(types, extname(name)))
      .map((name) => [name.replaceAll('\\', '/'), readFile(join(folder, name))]),
  );
}

function readFile(path: string): PageFile {
  const raw = readFileSync(path);
  const etag = `"${createHash('sha256').update(raw).digest('base64url').slice(0, 22)}"`;
  return { type: types[extname(path)] ?? 'application/octet-stream', raw, zipped: gzipSync(raw, { level: 9 }), etag };
}
