/** Serves the inspector's page with its assets, and the charts of our machines, from memory. They are build output. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { open } from './access.ts';

/** Only our own files and nothing inline, so that text from an agent can never load or run anything. */
export const pagePolicy =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/** Content types of the files of the page and the documentation, by extension. */
export const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
};

type PageFile = {
  readonly type: string;
  readonly raw: Buffer;
  readonly etag: string;
  /** Compressed on first use, outside of the main thread. */
  zipped(): Promise<Buffer>;
};

/** The page's files contain no data, so they need no token. The page itself asks for one. */
export const isPageRequest = ({ method, headers, routeOptions: { url = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (url === '/assets/:file' ||
    url === '/favicon.ico' ||
    url === '/icon/:file' ||
    (url === '/' && isBrowser(headers.accept)));

/** Clients that accept only plain text get the list of endpoints, which is also at `/api`. */
const wantsPage = (accept = '*/*'): boolean => isBrowser(accept) || accept.includes('*/*');
const isBrowser = (accept: string | undefined): boolean => accept?.includes('text/html') === true;

/** @param plain what `GET /` returns to clients that do not accept HTML */
export function addInspectorPage(app: FastifyInstance, plain: (request: FastifyRequest) => string): void {
  const files = readFiles();
  app.get(
    '/',
    { config: { access: open, listed: ['GET  /  (in a browser: the inspector)'] } },
    async (request, reply) => {
      reply.header('vary', 'accept');
      if (!wantsPage(request.headers.accept)) return reply.type('text/plain; charset=utf-8').send(plain(request));
      return send(request, reply, files, 'index.html', 'no-cache');
    },
  );
  // Asset names contain a hash of their content.
  app.get<{ Params: { file: string } }>('/assets/:file', { config: { access: open } }, async (request, reply) =>
    send(request, reply, files, `assets/${request.params.file}`, 'public, max-age=31536000, immutable'),
  );
  app.get<{ Params: { file: string } }>('/icon/:file', { config: { access: open } }, async ({ params }, reply) => {
    const icon = iconWith(files.get('icon.svg')?.raw.toString() ?? '', params.file);
    return reply
      .type(contentTypes['.svg'] ?? '')
      .header('cache-control', 'public, max-age=86400')
      .send(icon);
  });
  const charts = {
    config: { access: { role: 'read', workers: 'all', fleets: 'all' }, listed: ['GET  /machines.json'] },
  } as const;
  app.get('/machines.json', charts, async (request, reply) => send(request, reply, files, 'machines.json', 'no-cache'));
  app.get('/favicon.ico', { config: { access: open } }, async (request, reply) =>
    send(request, reply, files, 'icon.svg', 'public, max-age=86400'),
  );
}

/** Returns the icon with a count. @throws AppError actor.unknown */
function iconWith(icon: string, file: string): string {
  const count = /^([1-9]\d?)\.svg$/.exec(file)?.[1];
  if (count === undefined) throw new AppError('actor.unknown', 'there are icons from /icon/1.svg to /icon/99.svg');
  const badge = `<circle cx="21" cy="11" r="11" fill="#c0222c"/><text x="21" y="16" font-family="sans-serif" font-weight="700" font-size="${count.length > 1 ? 13 : 16}" fill="#fff" text-anchor="middle">${count}</text>`;
  return icon.replace('</svg>', `${badge}</svg>`);
}

async function send(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  files: ReadonlyMap<string, PageFile>,
  name: string,
  cacheControl: string,
): Promise<FastifyReply> {
  const file = files.get(name);
  if (file === undefined) {
    const message = files.size === 0 ? 'the inspector is not built: run "npm run build"' : `there is no file ${name}`;
    throw new AppError('actor.unknown', message);
  }
  const { type, etag, raw, zipped } = file;
  reply.headers({ 'content-security-policy': pagePolicy, 'cache-control': cacheControl, etag });
  reply.header('vary', 'accept, accept-encoding').header('referrer-policy', 'no-referrer');
  if (headers['if-none-match'] === etag) return reply.code(304).send();
  const acceptsGzip = headers['accept-encoding']?.includes('gzip') === true;
  if (acceptsGzip) reply.header('content-encoding', 'gzip');
  return reply.type(type).send(acceptsGzip ? await zipped() : raw);
}

/** Returns the page's files by their paths, and `machines.json`. Empty if the page is not built. */
function readFiles(): ReadonlyMap<string, PageFile> {
  // In a build the folder is above this one; from the sources, as in tests, it is in `dist`.
  const dist = ['../..', '../../dist']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, 'inspector/index.html')));
  if (dist === undefined) return new Map();
  const folder = join(dist, 'inspector');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map([
    ...names
      .filter((name) => Object.hasOwn(contentTypes, extname(name)))
      .map((name) => [name.replaceAll('\\', '/'), readFile(join(folder, name))] as const),
    ['machines.json', readFile(join(dist, 'machines.json'))],
  ]);
}

function readFile(path: string): PageFile {
  const raw = readFileSync(path);
  const etag = `"${createHash('sha256').update(raw).digest('base64url').slice(0, 22)}"`;
  let zipped: Promise<Buffer> | null = null;
  return {
    type: contentTypes[extname(path)] ?? 'application/octet-stream',
    raw,
    etag,
    zipped() {
      zipped ??= promisify(gzip)(raw, { level: 9 });
      return zipped;
    },
  };
}
