/**
 * `GET /docs/`: the documentation site that `npm run docs` builds in dist/docs. It holds no data, so it needs no token.
 */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { open } from './access.ts';
import { contentTypes, pagePolicy } from './inspector-page.ts';

export function addDocsRoutes(app: FastifyInstance): void {
  // Above this folder in a build, in dist when running from the sources, as tests do.
  const folder = ['../../docs', '../../dist/docs']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, 'llms.txt')));
  app.get('/docs', { config: { access: open } }, async (_request, reply) => reply.redirect('docs/'));
  app.get<{ Params: { '*': string } }>(
    '/docs/*',
    { config: { access: open, listed: ['GET  /docs/', 'GET  /docs/llms.txt'] } },
    async ({ params, headers }, reply) => {
      if (folder === undefined)
        throw new AppError('actor.unknown', 'the documentation is not built: run "npm run docs"');
      const name = fileNameOf(params['*']);
      const isMarkdown = extname(name) === '.md';
      const path = join(folder, isMarkdown ? allPages : name);
      const { mtimeMs, size } = await statFile(path, name);
      const etag = `"${mtimeMs.toString(36)}-${size.toString(36)}"`;
      reply.headers({ etag, 'cache-control': 'no-cache', 'content-security-policy': pagePolicy });
      if (headers['if-none-match'] === etag) return reply.code(304).send();
      return reply
        .type(contentTypes[extname(name)] ?? 'text/plain; charset=utf-8')
        .send(isMarkdown ? markdownIn(await readFile(path, 'utf8'), name) : await readFile(path));
    },
  );
}

/** The Markdown of all pages, each after a line that names it. Packages have it only once. */
const allPages = 'llms-full.txt';
const pageNamed = /^<!-- \S+\.md -->$/m;

/** @throws AppError actor.unknown if there is no such page */
function markdownIn(all: string, name: string): string {
  const heading = `<!-- ${name} -->\n\n`;
  // The line feed before `all` lets the first page be found like the others.
  const start = `\n${all}`.indexOf(`\n${heading}`);
  if (start < 0) throw unknownPage(name);
  const rest = all.slice(start + heading.length);
  const next = rest.search(pageNamed);
  return next < 0 ? rest : rest.slice(0, next - 1);
}

/** Returns the file for a path below /docs/, such as policies.html for `policies`. It is always inside the folder. */
function fileNameOf(path: string): string {
  const name = normalize(`/${path}`).slice(1);
  if (name === '' || name.endsWith('/')) return `${name}index.html`;
  return extname(name) === '' ? `${name}.html` : name;
}

/** @throws AppError actor.unknown if there is no such file */
async function statFile(path: string, name: string) {
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) throw unknownPage(name);
  return found;
}

const unknownPage = (name: string): AppError =>
  new AppError('actor.unknown', `there is no page ${name.slice(0, 200)} in the documentation`);
