/** The doctor's requests to the service. */
import { tryJson } from '../../try-json.ts';

/** `body` null: it is no JSON. */
export type Reply = {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
  readonly date: string | null;
};

const replyTimeoutMs = 5_000;

/** A string: why there is no reply. */
export async function askHttp(url: string, token: string | null): Promise<Reply | string> {
  try {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const reply = await fetch(url, { headers, signal: AbortSignal.timeout(replyTimeoutMs), redirect: 'error' });
    const text = await reply.text();
    return { status: reply.status, body: tryJson(text), text, date: reply.headers.get('date') };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? (cause as Error | undefined)?.message ?? message;
  }
}
