/** Asks for a token: the one that lets somebody read, or the operator's. It goes into a cookie that no script can read. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { locked, signIn } from './api.ts';
import { hello, reopen } from './connection.ts';
import { Dialog } from './dialog.tsx';

const asked = signal<{ readonly why: 'read' | 'operator'; readonly next: () => void } | null>(null);

export function askToSignIn(why: 'read' | 'operator', next: () => void = () => {}): void {
  asked.value = { why, next };
}

export function SignIn() {
  if (locked.value)
    return (
      <main id="main" class="locked">
        <h1>stopgate inspector</h1>
        <p>This service tells nothing without its token.</p>
        <TokenForm why="read" next={() => {}} />
      </main>
    );
  const question = asked.value;
  if (question === null) return null;
  const close = () => {
    asked.value = null;
  };
  return (
    <Dialog title="Speak as operator" close={close}>
      <TokenForm
        why={question.why}
        close={close}
        next={() => {
          close();
          question.next();
        }}
      />
    </Dialog>
  );
}

function TokenForm({ why, next, close }: { why: 'read' | 'operator'; next: () => void; close?: () => void }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const send = async () => {
    try {
      await signIn(token.trim());
      reopen();
      next();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const isHopeless = why === 'operator' && hello.value?.token === false;
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {isHopeless ? (
        <p>
          This service has no operator’s token, so nobody may do this here. Start it with <code>--token</code>, or use{' '}
          <code>stopgate resolve</code> with an operator’s credentials.
        </p>
      ) : (
        <>
          <label>
            {why === 'operator' ? 'Operator’s token' : 'Token'}
            <input
              type="password"
              required
              value={token}
              autoComplete="off"
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
          <p class="muted">
            {why === 'operator' ? (
              <>
                Of <code>npm start</code> and <code>stopgate dev</code> it is the <code>pass</code> in{' '}
                <code>.stopgate/credentials/operator.json</code>; of <code>stopgate serve</code> its{' '}
                <code>--token</code>.
              </>
            ) : (
              <>
                It is what the service was started with: <code>--token</code>, or <code>STOPGATE_TOKEN</code>.
              </>
            )}
          </p>
        </>
      )}
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="buttons">
        {!isHopeless && (
          <button type="submit" class="primary">
            Go on
          </button>
        )}
        {close !== undefined && (
          <button type="button" onClick={close}>
            {isHopeless ? 'Close' : 'Cancel'}
          </button>
        )}
      </p>
    </form>
  );
}
