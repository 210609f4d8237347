/** Collects the routes of the server: who may use each, what it takes and returns, and how `GET /api` lists it. */
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { Access } from './access.ts';

export type Route = {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
  /** Undefined: it is no part of the API. */
  readonly schema: FastifySchema | undefined;
  readonly listed: readonly string[];
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its lines in `GET /api`. Default: one with its method and path, if it is a part of the API. */
    listed?: readonly string[];
  }
}

/**
 * Returns the routes, which are complete once the server is ready. @throws Error when a route is added that does not say
 * who may use it
 */
export function recordRoutes(app: FastifyInstance): readonly Route[] {
  const routes: Route[] = [];
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    const access = config?.access;
    if (access === undefined) throw new Error(`who may ${method} ${url}? Say it in the access of its config`);
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
