/**
 * The path of `publicUrl`: the prefix under which a proxy serves us. A proxy may pass it on or remove it, and callers on this
 * machine do not use it, so each request is served with and without it.
 */
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { open } from './access.ts';
import type { Route } from './routes.ts';

/** `/stopgate`, or the empty string without a prefix. */
export const basePathOf = (publicUrl: URL | null): string => publicUrl?.pathname.replace(/\/$/, '') ?? '';

/** @returns the path and query of a request as our routes know them */
export const withoutBasePath = (url: string, basePath: string): string =>
  basePath !== '' && url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url;

/**
 * Leads `/stopgate` to `/stopgate/`, because the page loads everything relative to its own address. Call this after all
 * routes were added. @throws AppError config.bad if one of our own paths begins like the prefix
 */
export function addBasePath(app: FastifyInstance, basePath: string, routes: readonly Route[]): void {
  if (basePath === '') return;
  const first = (path: string) => path.split('/')[1];
  if (routes.some(({ url }) => first(url) === first(basePath)))
    throw new AppError(
      'config.bad',
      `the path of publicUrl begins with /${first(basePath)}, which is a path of the service itself: choose another, such as /stopgate/`,
    );
  const last = basePath.slice(basePath.lastIndexOf('/') + 1);
  // Relative, so that it is right for a proxy with another prefix in front.
  app.get(basePath, { config: { access: open } }, async ({ url }, reply) =>
    reply.redirect(`${last}/${url.slice(basePath.length)}`),
  );
}
