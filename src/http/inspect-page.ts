/**
 * `GET /inspect`: the inspector for any XState app, as the target of `createBrowserInspector({ url })`; and
 * `GET /machines.json`: the laid-out charts of our own machines. Both are build output, read once, when it is first asked for.
 */
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { readBuilt } from '../inspector/built-file.ts';

/** Apps on this machine may frame it to inspect themselves: it only shows what the app sends and can do nothing else. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "object-src 'none'",
  "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*",
].join('; ');

const files = {
  '/machines.json': { file: 'machines.json', type: 'application/json; charset=utf-8' },
  '/inspect': { file: 'inspect/index.html', type: 'text/html; charset=utf-8' },
  '/inspect/inspect.js': { file: 'inspect/inspect.js', type: 'text/javascript; charset=utf-8' },
  '/inspect/elk-worker.js': { file: 'inspect/elk-worker.js', type: 'text/javascript; charset=utf-8' },
  '/inspect/inspect.css': { file: 'inspect/inspect.css', type: 'text/css; charset=utf-8' },
} as const;

export function addInspectPage(app: FastifyInstance): void {
  for (const [path, { file, type }] of Object.entries(files)) {
    // The layout engine is large, and few open the page.
    let built: Buffer | null = null;
    app.get(path, async (_request, reply) => {
      built ??= readBuilt(file);
      if (built === null)
        throw new AppError('actor.unknown', 'this file is missing from the build: run "npm run build"');
      return reply.header('content-security-policy', contentSecurityPolicy).type(type).send(built);
    });
  }
}
