/** Gemini CLI with a scripted model: Google's generateContent API on loopback, and the settings to use it. */
import type { ServerResponse } from 'node:http';
import type { AgentPackage } from './install.ts';
import { type AgentHome, type AgentRun, runAgent } from './run.ts';
import {
  type About,
  type Api,
  callsOf,
  type ModelRequest,
  type Reply,
  sendEvents,
  sendJson,
} from './scripted-model.ts';

export const geminiCli: AgentPackage = { name: '@google/gemini-cli', version: '0.61.0', bin: 'gemini' };

type Part = { readonly text?: string; readonly functionResponse?: object };
type Content = { readonly role?: string; readonly parts?: readonly Part[] };
type Body = {
  readonly tools?: readonly { readonly functionDeclarations?: readonly { readonly name: string }[] }[];
  readonly contents?: readonly Content[];
  readonly generationConfig?: { readonly responseJsonSchema?: unknown; readonly responseSchema?: unknown };
};

export const generateContent: Api = { isTurn: (path) => /:(?:stream)?generateContent/i.test(path), read, send };

function read({ tools = [], contents = [], generationConfig = {} }: Body): ModelRequest {
  // Auxiliary requests (model routing, loop detection) require JSON of a given schema, whatever tools they offer.
  const isAside = Boolean(generationConfig.responseJsonSchema ?? generationConfig.responseSchema);
  return {
    tools: isAside ? [] : tools.flatMap((it) => (it.functionDeclarations ?? []).map(({ name }) => name)),
    input: contents
      .slice(contents.findLastIndex(({ role }) => role === 'model') + 1)
      .flatMap(({ parts = [] }) => parts.map((part) => part.text ?? JSON.stringify(part.functionResponse ?? part)))
      .join('\n'),
  };
}

function send(response: ServerResponse, turn: Reply, { path }: About): void {
  const parts =
    'text' in turn
      ? [{ text: turn.text }]
      : callsOf(turn).map(({ tool, input }) => ({ functionCall: { name: tool, args: input } }));
  const answer = {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'scripted',
  };
  if (path.includes('stream')) sendEvents(response, [answer]);
  else sendJson(response, 200, answer);
}

/** The user's existing settings. */
export const geminiSettings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
  // Pins a model, so that Gemini skips model routing.
  model: { name: 'gemini-2.5-flash' },
};

export function runGemini(
  program: string,
  at: AgentHome,
  modelUrl: string,
  more: readonly string[] = [],
): Promise<AgentRun> {
  const flags = ['--yolo', '--output-format', 'json'];
  return runAgent(program, ['-p', 'do the task', ...flags, ...more], { at, env: geminiEnv(modelUrl) });
}

export const geminiEnv = (modelUrl: string): Record<string, string> => ({
  GOOGLE_GEMINI_BASE_URL: modelUrl,
  GEMINI_API_KEY: 'none',
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
});
