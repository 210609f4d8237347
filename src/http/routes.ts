/** Records the server's routes with their access and schemas, for `GET /api` and the OpenAPI document. */
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { Access } from './access.ts';

export type Route = {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
  /** Undefined if the route is not part of the API. */
  readonly schema: FastifySchema | undefined;
  readonly listed: readonly string[];
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's lines in `GET /api`. Default: one with its method and path, if it is part of the API. */
    listed?: readonly string[];
  }
}

/**
 * Returns the routes; the list is complete once the server is ready.
 * @throws Error if a route without `access` is added
 */
export function recordRoutes(app: FastifyInstance): readonly Route[] {
  const routes: Route[] = [];
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    const access = config?.access;
    if (access === undefined) throw new Error(`who may ${method} ${url}? Set "access" in its config`);
    for (const verb of [method].flat()) {
      if (verb === 'HEAD') continue;
      const listed = config?.listed ?? (schema === undefined ? [] : [describe(verb, url, schema)]);
      routes.push({ method: verb, url, access, schema, listed });
    }
  });
  return routes;
}

/** `GET  /api/<fleet>/list/<workers|tasks|queues|escalations>` */
function describe(method: string, url: string, { params }: FastifySchema): string {
  const shape: Readonly<Record<string, unknown>> = params instanceof z.ZodObject ? params.shape : {};
  const path = url.replaceAll(/:(\w+)/g, (_, name: string) => {
    const part = shape[name];
    return `<${part instanceof z.ZodEnum ? part.options.join('|') : name}>`;
  });
  return `${method.padEnd(4)} ${path}`;
}
