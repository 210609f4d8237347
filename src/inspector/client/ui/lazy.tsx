/** A part of the page that is loaded when it is opened. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { connection } from '../data/connection.ts';

type State<Props> = { readonly part: ComponentType<Props> } | 'loading' | 'failed';

/** `name`: as in "Could not load …". */
export function createLazy<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return (props) => {
    const [state, setState] = useState<State<Props>>(loaded === null ? 'loading' : { part: loaded });
    const isLost = connection.value === 'lost';
    // One that failed while the connection was lost is tried again.
    useEffect(() => {
      if (loaded !== null || isLost) return;
      setState('loading');
      load().then(
        (part) => {
          loaded = part;
          setState({ part });
        },
        () => setState('failed'),
      );
    }, [isLost]);
    if (isLost && typeof state === 'string')
      return <p class="muted pad">This opens once the service responds: {name}.</p>;
    if (state === 'loading') return <p class="muted pad">Loading {name}…</p>;
    if (state !== 'failed') return <state.part {...props} />;
    return (
      <p class="problem pad" role="alert">
        Could not load {name}. Has the service been updated meanwhile?{' '}
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </p>
    );
  };
}
