/** `opencode serve` with a scripted model, driven over HTTP. Nothing leaves the machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AgentPackage } from './install.ts';
import { type AgentHome, cleanEnv } from './run.ts';

export const opencode: AgentPackage = {
  name: 'opencode-ai',
  version: '1.18.33',
  bin: 'opencode',
  install: 'postinstall.mjs',
};

export type OpencodeServer = {
  /** Resolves to the new session's id when its first turn has ended. */
  begin(prompt: string): Promise<string>;
  /** Creates a session without a prompt. */
  create(): Promise<string>;
  /** Resolves when the turn has ended. A plugin may prompt again. */
  prompt(session: string, text: string): Promise<void>;
  /** The types of a session's events so far, in order. Plugins get the same events. */
  eventsOf(session: string): readonly string[];
  /** Its output, including log lines of plugins. */
  output(): string;
  close(): Promise<void>;
};

/** Makes fetching the registry or the list of models fail at once. */
const nowhere = 'http://127.0.0.1:9';
export const opencodeEnv = (at: AgentHome): Record<string, string> => ({
  ...cleanEnv(at),
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  npm_config_registry: nowhere,
  npm_config_fetch_retries: '0',
  BUN_CONFIG_REGISTRY: nowhere,
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  NO_PROXY: '127.0.0.1,localhost',
});

export const opencodeConfig = (modelUrl: string, permission: object): string =>
  JSON.stringify({
    model: 'scripted/scripted',
    small_model: 'scripted/scripted',
    autoupdate: false,
    share: 'disabled',
    permission,
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'scripted',
        options: { baseURL: `${modelUrl}/v1`, apiKey: 'none' },
        models: { scripted: { name: 'scripted', tool_call: true, limit: { context: 100_000, output: 8_000 } } },
      },
    },
  });

export async function serveOpencode(
  program: string,
  at: AgentHome,
  modelUrl: string,
  permission: object = { '*': 'allow' },
): Promise<OpencodeServer> {
  await at.write('project/opencode.json', opencodeConfig(modelUrl, permission));
  const args = ['serve', '--hostname', '127.0.0.1', '--port', '0', '--print-logs'];
  const child = spawn(program, args, { cwd: at.project, env: opencodeEnv(at), detached: true });
  const exited = once(child, 'exit');
  const kill = () => process.kill(-(child.pid as number), 'SIGKILL');
  process.once('exit', kill);
  let output = '';
  const heard = new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      output += chunk.toString();
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output.slice(output.indexOf('listening'))) ?? [];
      if (url !== undefined) resolve(url);
    };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', hear);
    void exited.then(() => reject(new Error(`opencode serve ended: ${output}`)));
    setTimeout(() => reject(new Error(`opencode serve says no address: ${output}`)), 60_000).unref();
  });
  const url = await heard;
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const reply = await response.text();
    if (!response.ok) throw new Error(`opencode answered ${response.status}: ${reply}`);
    return reply === '' ? null : JSON.parse(reply);
  };
  const prompt = async (session: string, text: string) => {
    await post(`/session/${session}/message`, { parts: [{ type: 'text', text }] });
  };
  const create = async () => ((await post('/session', {})) as { id: string }).id;
  const events = await follow(`${url}/event`);
  return {
    eventsOf: (session) => events.filter((it) => it.properties?.sessionID === session).map(({ type }) => type),
    create,
    async begin(text) {
      const id = await create();
      await prompt(id, text);
      return id;
    },
    prompt,
    output: () => output,
    async close() {
      process.off('exit', kill);
      kill();
      await exited;
    },
  };
}

type Event = { readonly type: string; readonly properties?: { readonly sessionID?: string } };

/** Yields server-sent events until the server ends. */
async function follow(url: string): Promise<readonly Event[]> {
  const { body } = await fetch(url);
  const events: Event[] = [];
  const read = async () => {
    let rest = '';
    for await (const chunk of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) events.push(JSON.parse(block.replace(/^data: /, '')));
    }
  };
  read().catch(() => {});
  return events;
}
