/** One POST to `/mcp`, with a server of its own: nothing is kept between requests, so any replica can answer any of them. */
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { createMcpServer, type McpOptions } from './server.ts';

export type HttpAnswer = { readonly status: number; readonly headers: Record<string, string>; readonly body: string };

/** `headers`: of the request; `body`: already parsed. */
export async function answerPost(
  options: McpOptions,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<HttpAnswer> {
  const mcp = createMcpServer(options);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await mcp.connect(transport);
    // The transport reads only headers and body, so any address will do.
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    const response = await transport.handleRequest(request, { parsedBody: body });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  } finally {
    await mcp.close();
  }
}
