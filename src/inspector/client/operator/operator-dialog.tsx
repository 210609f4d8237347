/** Confirms an operator's action, with the name of the operator and a prompt for the agent. */
import { useState } from 'preact/hooks';
import { Dialog } from '../ui/dialog.tsx';
import { type ActionRequest, actionTexts, isUnauthorized, pendingAction, performAction } from './operator-actions.ts';
import { requestSignIn } from './sign-in.tsx';

const nameKey = 'stopgate.by';

export function OperatorDialog() {
  const request = pendingAction.value;
  return request === null ? null : <Confirmation key={`${request.action}${request.id}`} request={request} />;
}

function Confirmation({ request }: { request: ActionRequest }) {
  const { action, entity, id } = request;
  const [by, setBy] = useState(localStorage.getItem(nameKey) ?? '');
  const [prompt, setPrompt] = useState('');
  const { send, busy, problem, close } = useSend(request);
  const { title, effect } = actionTexts[action];
  return (
    <Dialog title={`${title}: ${entity} ${id}`} close={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          localStorage.setItem(nameKey, by.trim());
          void send(by, prompt);
        }}
      >
        <p>{effect}</p>
        {action === 'resume' && (
          <label>
            Prompt for the agent (optional)
            <textarea
              rows={4}
              value={prompt}
              maxLength={20_000}
              onInput={(event) => setPrompt(event.currentTarget.value)}
            />
          </label>
        )}
        <label>
          Your name (stored with the entry)
          <input
            required
            value={by}
            maxLength={200}
            autoComplete="name"
            onInput={(event) => setBy(event.currentTarget.value)}
          />
        </label>
        {problem !== null && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy}>
            {title}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

function useSend(request: ActionRequest) {
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const close = () => {
    pendingAction.value = null;
  };
  const send = async (by: string, prompt: string) => {
    setBusy(true);
    try {
      await performAction(request, by, prompt);
      close();
      // The button that was pressed may be gone now.
      requestAnimationFrame(() => document.querySelector<HTMLElement>('aside h2')?.focus({ preventScroll: true }));
    } catch (error) {
      setBusy(false);
      setProblem((error as Error).message);
      if (!isUnauthorized(error)) return;
      close();
      requestSignIn(() => {
        pendingAction.value = request;
      });
    }
  };
  return { send, busy, problem, close };
}
