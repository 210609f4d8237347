/** OpenAI's chat completions, which Copilot CLI and OpenCode speak. */
import {
  type Script,
  type ScriptedModel,
  sendEvents,
  sendJson,
  startScriptedModel,
  type WireFormat,
} from './scripted-model.ts';

type Message = { readonly role: string; readonly content: unknown };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const chatCompletions: WireFormat = {
  isForModel: (path) => path.includes('/chat/completions'),
  isTurn: ({ tools }) => Array.isArray(tools) && tools.length > 0,
  said(body) {
    const messages = (body.messages ?? []) as readonly Message[];
    return messages
      .slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
      .filter(({ role }) => role !== 'system')
      .map(({ content }) => wordsIn(content))
      .join('\n');
  },
  send(response, turn, { body: { model, stream }, id }) {
    const base = { id: `chat-${id}`, created: 0, model };
    const isTool = 'tool' in turn;
    const finish_reason = isTool ? 'tool_calls' : 'stop';
    const call = isTool && {
      ...{ index: 0, id: `call_${id}`, type: 'function' },
      function: { name: turn.tool, arguments: JSON.stringify(turn.input) },
    };
    const message = { role: 'assistant', content: isTool ? '' : turn.text, ...(call ? { tool_calls: [call] } : {}) };
    if (stream !== true) {
      sendJson(response, 200, {
        ...base,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage,
      });
      return;
    }
    const chunk = (delta: object, finish: string | null) => ({
      ...{ ...base, object: 'chat.completion.chunk' },
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const total = { ...base, object: 'chat.completion.chunk', choices: [], usage };
    sendEvents(response, [chunk(message, null), chunk({}, finish_reason), total, '[DONE]']);
  },
};

export const startChatModel = (script: Script): Promise<ScriptedModel> => startScriptedModel(chatCompletions, script);

function wordsIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(wordsIn).join('\n');
  return wordsIn((content as { text?: unknown } | null)?.text ?? '');
}
