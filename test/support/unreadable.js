/** Finds unreadable text in a page: wider than the page, overlapping, truncated, or smaller than twelve pixels. */
(() => {
  const { body } = document;
  const name = (it) => `${it.tagName.toLowerCase()} ${it.getAttribute('class')} ${it.textContent.slice(0, 20)}`;
  const scaleOf = (it) => (it instanceof SVGGraphicsElement ? it.getScreenCTM().a : 1);
  const isText = (it) => [...it.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim() !== '');
  const isSmall = (it) => isText(it) && Number.parseFloat(getComputedStyle(it).fontSize) * scaleOf(it) < 11.9;
  const spills = (it) => getComputedStyle(it).overflowY === 'visible' && it.scrollHeight > it.clientHeight + 3;
  const shown = [...body.querySelectorAll('*')].filter(
    (it) => it.checkVisibility({ visibilityProperty: true }) && it.closest('.sr-only, .cm-announced') === null,
  );
  return [
    ...(body.scrollWidth > innerWidth ? [`the page is ${body.scrollWidth} px wide`] : []),
    ...shown.filter(isSmall).map((it) => `too small: ${name(it)}`),
    ...shown
      .filter((it) => it.matches('main > section > *') && spills(it))
      .map((it) => `covers what follows: ${name(it)}`),
    ...shown
      .filter((it) => it.matches('th a, h2, h3, nav, .tabs, .count, .c-since') && it.scrollWidth > it.clientWidth + 1)
      .map((it) => `cut: ${name(it)}`),
  ];
})();
