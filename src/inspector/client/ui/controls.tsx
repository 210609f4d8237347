/** Shared controls: links, buttons, forms, dialogs, progress, lazily loaded parts. */
import type { ComponentChildren, ComponentProps, ComponentType } from 'preact';
import { useEffect, useId, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { Progress } from '../data/api.ts';
import { connection } from '../data/connection.ts';
import { hrefOf, navigate, type Route } from '../route.ts';
import { count } from './format.ts';

/** A link within the page. Clicks with a modifier are left to the browser. */
type LinkProps = Omit<ComponentProps<'a'>, 'href' | 'onClick' | 'role'> & { readonly to: Partial<Route> };

export const Link = ({ to, children, ...attributes }: LinkProps) => (
  <a
    {...attributes}
    href={hrefOf(to)}
    onClick={(event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
      event.preventDefault();
      navigate(to);
    }}
  >
    {children}
  </a>
);

/** A button that does not submit a form. */
export const Button = (props: ComponentProps<'button'>) => <button type="button" {...props} />;

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit' | 'ref'> & {
  readonly submit: (fields: FormData, form: HTMLFormElement) => unknown;
};

/**
 * A form handled by the page. Values are read from the form, because Enter may come before the last input is rendered.
 */
export const Form = ({ submit, ...attributes }: FormProps) => (
  <form
    {...attributes}
    onSubmit={(event) => {
      event.preventDefault();
      void submit(new FormData(event.currentTarget), event.currentTarget);
    }}
  />
);

/** The button that submits a form. */
export const Submit = (props: ComponentProps<'button'>) => <button type="submit" class="primary" {...props} />;

/** An error message, if there is one. */
export const Problem = ({ text }: { text: string | null }) =>
  text === null ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );

/** A 16×16 icon, used instead of a word where there is little room. Screen readers get the word. */
export const Icon = ({ path }: { path: string }) => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={path} />
  </svg>
);

type CopyButtonProps = {
  /** Completes the label "Copy …". */
  readonly what: string;
  readonly word: string;
  /** @returns whether the text was copied */
  readonly copy: (button: HTMLElement) => Promise<boolean>;
};

export function CopyButton({ what, word, copy }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <Button
      class="copy link"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={(event) => void copy(event.currentTarget).then(setCopied)}
    >
      {isCopied ? 'copied' : word}
    </Button>
  );
}

/** Copies a text. Browsers allow this only on localhost or over TLS. @returns whether it was copied */
export const copyText = async (text: string): Promise<boolean> =>
  (await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )) ?? false;

/** Copies an id. Without a clipboard, selects it to be copied by hand. */
export const Copy = ({ value }: { value: string }) => (
  <CopyButton
    what={value}
    word="copy"
    copy={async (button) => {
      const isCopied = await copyText(value);
      if (!isCopied) getSelection()?.selectAllChildren(button.previousElementSibling?.querySelector('bdi') ?? button);
      return isCopied;
    }}
  />
);

/** Progress of a fold, with a button to cancel it. */
type ProgressProps = { readonly progress: Progress; readonly cancel: () => void };

export const FoldProgress = ({ progress: { done, total }, cancel }: ProgressProps) => (
  <span class="progress" role="status">
    <progress aria-label="Entries folded" value={done} max={total} />
    <span>
      {count(done)} of {count(total)} entries
    </span>
    <Button onClick={cancel}>Cancel</Button>
  </span>
);

/** A modal dialog. Escape closes it, and the focus returns to where it was. */
type DialogProps = { readonly title: string; readonly close: () => void; readonly children: ComponentChildren };

export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const isClosed = useRef(true);
  const [, renderAgain] = useReducer((times: number) => times + 1, 0);
  const heading = useId();
  // If it is still rendered after it was closed, it was requested again meanwhile.
  useLayoutEffect(() => {
    if (element.current === null || !isClosed.current) return;
    isClosed.current = false;
    element.current.showModal();
  });
  useEffect(() => () => element.current?.close(), []);
  // The browser fires twice, the second time a frame later, when another dialog may have been requested.
  const onClose = () => {
    if (isClosed.current) return;
    isClosed.current = true;
    close();
    renderAgain(0);
  };
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose} onCancel={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

/** The state of a lazily loaded part of the page. */
type State<Props> = { readonly part: ComponentType<Props> } | 'loading' | 'failed';

/**
 * Creates a component that is loaded when it is first rendered, or by its `load`.
 * @param name completes "Could not load …"
 * @param room placeholder until it is loaded
 */
export function createLazy<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
  room?: ComponentChildren,
): ComponentType<Props> & { load(): Promise<ComponentType<Props>> } {
  let loaded: ComponentType<Props> | null = null;
  const loadNow = async () => {
    loaded = await load();
    return loaded;
  };
  const Lazy = (props: Props) => {
    const [state, setState] = useState<State<Props>>(loaded === null ? 'loading' : { part: loaded });
    const isLost = connection.value === 'lost';
    // Retry once the connection is back.
    useEffect(() => {
      if (loaded !== null || isLost) return;
      setState('loading');
      loadNow().then(
        (part) => setState({ part }),
        () => setState('failed'),
      );
    }, [isLost]);
    if (isLost && typeof state === 'string')
      return <p class="muted pad">The service does not respond. {name} will open once it does.</p>;
    if (state === 'loading') return room ?? <p class="muted pad">Loading {name}…</p>;
    if (state !== 'failed') return <state.part {...props} />;
    return (
      <p class="problem pad" role="alert">
        Could not load {name}. Has the service been updated?{' '}
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </p>
    );
  };
  return Object.assign(Lazy, { load: loadNow });
}
