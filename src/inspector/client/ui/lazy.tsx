/** A part of the page that is loaded when it is opened. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type State<Props> = { readonly part: ComponentType<Props> } | 'loading' | 'failed';

/** `name`: as in "… could not be loaded". */
export function createLazy<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return (props) => {
    const [state, setState] = useState<State<Props>>(loaded === null ? 'loading' : { part: loaded });
    useEffect(() => {
      if (loaded !== null) return;
      load().then(
        (part) => {
          loaded = part;
          setState({ part });
        },
        () => setState('failed'),
      );
    }, []);
    if (state === 'loading') return <p class="muted pad">Loading {name}…</p>;
    if (state !== 'failed') return <state.part {...props} />;
    return (
      <p class="problem pad" role="alert">
        {name} could not be loaded. Has the service been updated meanwhile?{' '}
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </p>
    );
  };
}
