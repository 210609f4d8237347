/** Resources that the checks share. Each is created on first use and closed after the last check. */
import { test } from 'vitest';
import { type Client, connect } from '../../src/client/index.ts';
import { type Folder, makeFolder } from '../support/deployment.ts';
import { type McpClient, openServerClient } from '../support/mcp-client.ts';
import { openService, type SeedService } from './service.ts';

export const stage = test
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from it what a fixture depends on
  .extend('folder', { scope: 'file' }, async ({}, { onCleanup }) => {
    const folder = await makeFolder();
    onCleanup(() => folder.remove());
    return folder;
  })
  .extend('service', { scope: 'file' }, async ({ folder }, { onCleanup }) => {
    const service = await openService(folder);
    onCleanup(() => service.close());
    return service;
  })
  .extend('client', { scope: 'file' }, async ({ service, folder }, { onCleanup }) => {
    const client = await connect({ nats: service.url, fleet: 'main', cwd: folder.path });
    onCleanup(() => client.close());
    return client;
  })
  .extend('mcp', { scope: 'file' }, async ({ service }, { onCleanup }) => {
    const mcp = await openServerClient(service.mcpServer());
    onCleanup(() => mcp.close());
    return mcp;
  });

export type Stage = {
  readonly folder: Folder;
  readonly service: SeedService;
  /** The TypeScript client. */
  readonly client: Client;
  /** The MCP tools. */
  readonly mcp: McpClient;
};
