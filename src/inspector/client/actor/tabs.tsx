/** The sections of the panel, one at a time: arrows move between them, and the address keeps which one. */
import type { ComponentChildren } from 'preact';
import { navigate, route, type Tab, tabs } from '../route.ts';

type Section = { readonly title: string; readonly content: () => ComponentChildren };

/** A task has no sequence. */
type Sections = Readonly<Record<Exclude<Tab, 'sequence'>, Section> & { sequence?: Section }>;

export function Tabs({ sections }: { sections: Sections }) {
  const shown = tabs.filter((it) => sections[it] !== undefined);
  const tab = shown.find((it) => it === route.value.tab) ?? 'why';
  const pick = (next: Tab) => {
    navigate({ tab: next }, 'replace');
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`#tab-${next}`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    pick(shown[(shown.indexOf(tab) + step + shown.length) % shown.length] ?? 'why');
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Sections" onKeyDown={onKeyDown}>
        {shown.map((it) => (
          <button
            key={it}
            id={`tab-${it}`}
            type="button"
            role="tab"
            aria-selected={it === tab}
            aria-controls="section"
            tabIndex={it === tab ? 0 : -1}
            onClick={() => navigate({ tab: it }, 'replace')}
          >
            {sections[it]?.title}
          </button>
        ))}
      </div>
      <div id="section" class="section" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {sections[tab]?.content()}
      </div>
    </>
  );
}
