/** A scripted model on loopback with OpenAI's chat completions API. */
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { openLoopbackServer } from './loopback-server.ts';

type Asked = { model: string; messages: { role: string; content: string }[] };
/** A final message or a tool call. */
export type ModelAnswer = string | { readonly tool: string; readonly arguments: object };

/** `asked` contains the requests so far. After the last answer it replies with status 500. Closed with the test. */
export async function scriptModel(answers: readonly ModelAnswer[]) {
  const asked: Asked[] = [];
  const { origin, close } = await openLoopbackServer(async (request, response) => {
    asked.push(JSON.parse(await text(request)));
    const answer = answers[asked.length - 1];
    response.writeHead(answer === undefined ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer === undefined ? {} : toCompletion(answer, asked.length)));
  });
  onTestFinished(close);
  return { asked, url: `${origin}/v1` };
}

function toCompletion(answer: ModelAnswer, number: number) {
  const message =
    typeof answer === 'string'
      ? { role: 'assistant', content: answer }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: `call-${number}`,
              type: 'function',
              function: { name: answer.tool, arguments: JSON.stringify(answer.arguments) },
            },
          ],
        };
  const reason = typeof answer === 'string' ? 'stop' : 'tool_calls';
  const choices = [{ index: 0, message, finish_reason: reason }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return { id: `answer-${number}`, object: 'chat.completion', created: 0, model: 'scripted', choices, usage };
}
