/** What an operator's action came to, for a few seconds: the actor itself may be out of sight by then. */
import { useEffect } from 'preact/hooks';
import { actionNews } from './operator-actions.ts';

const shownMs = 6_000;

export function ActionNews() {
  const news = actionNews.value;
  useEffect(() => {
    if (news === null) return;
    const timer = setTimeout(() => {
      actionNews.value = null;
    }, shownMs);
    return () => clearTimeout(timer);
  }, [news]);
  return (
    <p class={news === null ? 'news sr-only' : 'news'} role="status" data-problem={news?.isProblem || undefined}>
      {news?.text}
    </p>
  );
}
