/** Asks for a token, for reading or for operator actions. It becomes a cookie that scripts cannot read. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { signIn } from '../data/api.ts';
import { hello, renewSession } from '../data/connection.ts';
import { Button, Dialog, Form, Problem, Submit } from '../ui/controls.tsx';

/** Called after the operator has signed in. Null while the dialog is closed. */
const afterSignIn = signal<(() => void) | null>(null);

/** Opens the dialog that asks for the operator token. */
export function requestSignIn(next: () => void = () => {}): void {
  afterSignIn.value = next;
}

/** Shown instead of the page if reading requires a token. */
export const LockedPage = () => (
  <main id="main" class="locked">
    <h1>stopgate inspector</h1>
    {hello.value === null ? (
      <p>This service requires a token.</p>
    ) : (
      <p role="alert">
        Your session has ended: the token is no longer valid, or someone signed out in this browser. Sign in again to
        continue where you were.
      </p>
    )}
    <TokenForm label="Token" onSuccess={() => {}}>
      Use the service’s <code>--token</code> or <code>STOPGATE_TOKEN</code>, or your own token. Whoever runs the service
      can create one for you with <code>stopgate token</code>.
    </TokenForm>
  </main>
);

export function SignInDialog() {
  const next = afterSignIn.value;
  if (next === null) return null;
  const close = () => {
    afterSignIn.value = null;
  };
  const onSuccess = () => {
    close();
    next();
  };
  return (
    <Dialog title="Sign in as operator" close={close}>
      {hello.value?.token === false ? (
        <NoOperatorToken close={close} />
      ) : (
        <TokenForm label="Operator token" onSuccess={onSuccess} onCancel={close}>
          With <code>npm start</code> or <code>stopgate dev</code>, it is <code>pass</code> in{' '}
          <code>.stopgate/credentials/operator.json</code>; with <code>stopgate serve</code>, the value of{' '}
          <code>--token</code>.
        </TokenForm>
      )}
    </Dialog>
  );
}

const NoOperatorToken = ({ close }: { close: () => void }) => (
  <div class="token">
    <p>
      This service has no operator token, so this cannot be done here. Start it with <code>--token</code>, or use{' '}
      <code>stopgate resolve</code> with operator credentials.
    </p>
    <p class="row buttons">
      <Button onClick={close}>Close</Button>
    </p>
  </div>
);

type TokenFormProps = {
  readonly label: string;
  readonly onSuccess: () => void;
  readonly onCancel?: () => void;
  /** Explains where to find the token. */
  readonly children: ComponentChildren;
};

function TokenForm({ label, onSuccess, onCancel, children }: TokenFormProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async (fields: FormData) => {
    try {
      await signIn(String(fields.get('token')).trim());
      renewSession();
      onSuccess();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <Form class="token" submit={submit}>
      <label>
        {label}
        <input ref={field} type="password" name="token" required autoComplete="off" />
      </label>
      <p class="muted">{children}</p>
      <Problem text={problem} />
      <p class="row buttons">
        <Submit>Continue</Submit>
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
      </p>
    </Form>
  );
}
