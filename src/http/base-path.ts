/**
 * The path of `publicUrl`: the prefix under which a proxy serves us. A proxy may pass it on or remove it, and callers
 * on this machine do not use it, so each request is served with and without it.
 */
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { open } from './access.ts';
import type { Route } from './routes.ts';

/** Returns a prefix such as `/stopgate`, or the empty string if there is none. */
export const basePathOf = (publicUrl: URL | null): string => publicUrl?.pathname.replace(/\/$/, '') ?? '';

/** @returns the path and query of a request as our routes know them */
export const withoutBasePath = (url: string, basePath: string): string =>
  basePath !== '' && url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url;

/**
 * Redirects `/stopgate` to `/stopgate/`, because the page loads everything relative to its own address. Call this after
 * all routes were added.
 * @throws AppError config.bad if one of our own paths begins like the prefix
 */
export function addBasePath(app: FastifyInstance, basePath: string, routes: readonly Route[]): void {
  if (basePath === '') return;
  const firstPart = (path: string) => path.split('/')[1];
  if (routes.some(({ url }) => firstPart(url) === firstPart(basePath)))
    throw new AppError(
      'config.bad',
      `the path of publicUrl begins with /${firstPart(basePath)}, which is a path of the service itself: choose another, such as /stopgate/`,
    );
  const last = basePath.slice(basePath.lastIndexOf('/') + 1);
  // A relative address is right even behind another proxy that adds its own prefix.
  app.get(basePath, { config: { access: open } }, async ({ url }, reply) =>
    reply.redirect(`${last}/${url.slice(basePath.length)}`),
  );
}
