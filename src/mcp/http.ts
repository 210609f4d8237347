/** MCP over streamable HTTP, with a separate server per request. */
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { createMcpServer, type McpOptions } from './server.ts';

/**
 * Answers one POST to `/mcp` with a new server. Nothing is kept between requests, so any replica can answer each.
 * @param body the parsed body
 */
export async function answerPost(
  options: McpOptions,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<{ status: number; headers: Record<string, string>; body: string }> {
  // The library reads only headers and body, so any address will do.
  const request = new Request('http://localhost/mcp', { method: 'POST', headers });
  const isLegacy = await isLegacyRequest(request, body);
  const response = await (isLegacy ? answerLegacy : answerModern)(options, request, body);
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

/** Protocol 2026-07-28: each request names its version. Our lists never change, so there is nothing to subscribe to. */
const answerModern = (options: McpOptions, request: Request, body: unknown): Promise<Response> =>
  createMcpHandler(() => createMcpServer(options), { legacy: 'reject', maxSubscriptions: 0 }).fetch(request, {
    parsedBody: body,
  });

/** Protocols up to 2025-11-25. The library's own fallback would answer with a stream of events instead of JSON. */
async function answerLegacy(options: McpOptions, request: Request, body: unknown): Promise<Response> {
  const server = createMcpServer(options);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    return await transport.handleRequest(request, { parsedBody: body });
  } finally {
    await server.close();
  }
}
