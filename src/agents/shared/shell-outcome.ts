/**
 * Reads from a shell tool's result how its command ended. Agents report a shell call as successful once the shell has
 * run, even if the command failed or continues in the background. Such a command does not count as having run.
 */

/** `unknown` if the result does not say, for example because the agent passes on only the command's output. */
export type ShellOutcome = 'ended' | 'failed' | 'running' | 'unknown';

type Fields = Readonly<Record<string, unknown>>;

/** Agents put their markers at the start or the end of the output. Only this much is searched at each end. */
const edgeCharsMax = 4_000;

const exitKeys = ['exit_code', 'exitCode', 'exit', 'returncode', 'return_code'];
/** Fields that hold the text for the model. */
const textKeys = ['llmContent', 'textResultForLlm', 'text_result_for_llm', 'output', 'text'];
/** Fields that name the background task of a command. */
const backgroundKeys = ['backgroundTaskId', 'background_task_id'];
const backgroundFlags = ['run_in_background', 'is_background', 'isBackground'];

export function readShellOutcome(input: Fields, response: unknown): ShellOutcome {
  if (backgroundFlags.some((key) => input[key] === true || input[key] === 'true')) return 'running';
  return readResponse(response, 0);
}

/** @param depth of nesting: a result may contain another one, such as `metadata` or a list of parts */
function readResponse(response: unknown, depth: number): ShellOutcome {
  if (typeof response === 'string') return readText(response);
  if (typeof response !== 'object' || response === null || depth > 2) return 'unknown';
  if (Array.isArray(response)) return first(response.slice(0, 10).map((part) => readResponse(part, depth + 1)));
  const fields = response as Fields;
  if (fields.interrupted === true) return 'failed';
  if (fields.status === 'running' || backgroundKeys.some((key) => isName(fields[key]))) return 'running';
  const exit = exitKeys.find((key) => Object.hasOwn(fields, key));
  // An exit code of null means a signal, or that nobody waited for the end.
  if (exit !== undefined) return Number(fields[exit]) === 0 && isNumber(fields[exit]) ? 'ended' : 'failed';
  const texts = textKeys.filter((key) => typeof fields[key] === 'string' || Array.isArray(fields[key]));
  return first([
    readResponse(fields.metadata, depth + 1),
    ...texts.map((key) => readResponse(fields[key], depth + 1)),
    readResponse(fields.content, depth + 1),
  ]);
}

const first = (outcomes: readonly ShellOutcome[]): ShellOutcome =>
  outcomes.find((outcome) => outcome !== 'unknown') ?? 'unknown';
const isName = (value: unknown): boolean => (typeof value === 'string' && value !== '') || typeof value === 'number';
const isNumber = (value: unknown): boolean => typeof value === 'number' || (typeof value === 'string' && value !== '');

/** Codex, at the start: `Wall time: 1.2 seconds`, `Process exited with code 1`, `Process running with session ID 7`. */
const codexHead =
  /^(?:(?:Chunk ID|Wall time|Original token count|Total output lines)[^\n]*\n)*(?:Exit code: |Process exited with code )(-?\d+)/;
const codexRunning = /^(?:(?:Chunk ID|Wall time|Original token count)[^\n]*\n)*Process running with session ID/;
/** Gemini CLI and Qwen Code, after the output: `Exit Code: 1`, `Signal: 9`. */
const exitLine = /^Exit Code: (\(none\)|-?\d+)$/gm;
const signalLine = /^Signal: (?!\(none\))\S/m;
/** Copilot CLI, after the output: `<shellId: 0 completed with exit code 1>`, `<exited with exit code 1>`. */
const copilotEnd = /<[^<>\n]{0,100}\bexit(?:ed with)?(?: exit)? code:? (-?\d+)>\s*$/;
/** Copilot CLI, for a command that is still running. */
const copilotRunning = /<[^<>\n]{0,100}\bshellId\b[^<>\n]{0,200}>\s*$/;
const cancelled = /^Command was (?:automatically )?cancelled\b/;
const inBackground =
  /^(?:Background command started|Command (?:is running|moved|started|was moved)[^\n]{0,80}background)/;

function readText(text: string): ShellOutcome {
  const head = text.slice(0, edgeCharsMax).trimStart();
  const tail = text.slice(-edgeCharsMax).trimEnd();
  const untagged = head.replace(/^<[a-z_]+>\s*/, '');
  if (codexRunning.test(head) || inBackground.test(untagged)) return 'running';
  if (cancelled.test(untagged)) return 'failed';
  // The output may contain such lines too, so take the last one.
  const code = codexHead.exec(head)?.[1] ?? copilotEnd.exec(tail)?.[1] ?? [...tail.matchAll(exitLine)].at(-1)?.[1];
  if (code !== undefined) return Number(code) === 0 ? 'ended' : 'failed';
  if (signalLine.test(tail)) return 'failed';
  return copilotRunning.test(tail) ? 'running' : 'unknown';
}
