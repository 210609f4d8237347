/** Gemini CLI with a scripted model: Google's generateContent on loopback, and the settings that lead there. */
import type { AgentPackage } from './install.ts';
import { type AgentHome, type AgentRun, runAgent } from './run.ts';
import {
  type Script,
  type ScriptedModel,
  sendEvents,
  sendJson,
  startScriptedModel,
  type WireFormat,
} from './scripted-model.ts';

export const geminiCli: AgentPackage = { name: '@google/gemini-cli', version: '0.61.0', bin: 'gemini' };

type Part = { readonly text?: string; readonly functionResponse?: object };
type Content = { readonly role?: string; readonly parts?: readonly Part[] };

const generateContent: WireFormat = {
  isForModel: (path) => /:(?:stream)?generateContent/i.test(path),
  // Its side questions (which model to take, is it looping) want JSON of a shape.
  isTurn: ({ tools, generationConfig }) => {
    const { responseJsonSchema, responseSchema } = (generationConfig ?? {}) as Record<string, unknown>;
    return Array.isArray(tools) && tools.length > 0 && !responseJsonSchema && !responseSchema;
  },
  said(body) {
    const contents = (body.contents ?? []) as readonly Content[];
    return contents
      .slice(contents.findLastIndex(({ role }) => role === 'model') + 1)
      .flatMap(({ parts = [] }) => parts.map((part) => part.text ?? JSON.stringify(part.functionResponse ?? part)))
      .join('\n');
  },
  send(response, turn, { path }) {
    const part = 'tool' in turn ? { functionCall: { name: turn.tool, args: turn.input } } : { text: turn.text };
    const answer = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: 'scripted',
    };
    if (path.includes('stream')) sendEvents(response, [answer]);
    else sendJson(response, 200, answer);
  },
};

export const startGeminiModel = (script: Script): Promise<ScriptedModel> => startScriptedModel(generateContent, script);

/** What a user has in his settings already. */
export const geminiSettings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
  // Otherwise it first asks a model which model to take.
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
