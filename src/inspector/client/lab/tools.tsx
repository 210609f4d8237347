/** What can be done with the text of the lab: compare it with what is in force, share it, take it along. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { hrefOf } from '../route.ts';
import { inForce, loadInForce, text } from './comparison.ts';
import { sharedCharsMax, toFragment } from './share.ts';

export function LabTools({ showDifference }: { showDifference: (isShown: boolean) => void }) {
  const isShown = useSignal(false);
  const news = useSignal('');
  const tell = async (work: Promise<unknown>, done: string) => {
    news.value = await work.then(
      () => done,
      () => 'The browser does not let this page copy: select the text and copy it.',
    );
  };
  useSignalEffect(() => {
    void text.value;
    news.value = '';
  });
  const isSame = inForce.value === null || inForce.value === text.value;
  return (
    <>
      <p class="buttons">
        <button
          type="button"
          aria-pressed={isShown.value}
          disabled={inForce.value === null}
          title="To the policies in force"
          onClick={() => {
            isShown.value = !isShown.value;
            showDifference(isShown.value);
          }}
        >
          Difference
        </button>
        <button
          type="button"
          disabled={isSame}
          title="Load the policies in force"
          onClick={() => void loadInForce('always')}
        >
          Reset
        </button>
        <button
          type="button"
          disabled={text.value.length > sharedCharsMax}
          title={text.value.length > sharedCharsMax ? 'The text is too long for an address' : undefined}
          onClick={() =>
            void tell(copyLink(), 'The link is copied. It contains the text, which is not sent to any server.')
          }
        >
          Copy link
        </button>
        <button
          type="button"
          title="For stopgate.yaml"
          onClick={() =>
            void tell(
              navigator.clipboard.writeText(text.peek()),
              'Copied. Paste it into stopgate.yaml in place of "policies" and "assign"; the service reloads the file at once.',
            )
          }
        >
          Copy YAML
        </button>
      </p>
      <p class="muted lab-news" role="status">
        {news.value !== '' ? news.value : isSame ? 'These are the policies in force.' : ''}
      </p>
    </>
  );
}

async function copyLink(): Promise<void> {
  const fragment = await toFragment(text.peek());
  await navigator.clipboard.writeText(`${location.origin}${hrefOf({})}${fragment}`);
}
