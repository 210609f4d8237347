/** The inbox by keyboard and mouse: from sign-in to a resolved escalation, and nothing moves under the pointer. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { useInbox } from '../../support/inbox.ts';
import { operatorToken } from '../../support/stage.ts';

describeInBrowser('the inbox', () => {
  const inbox = useInbox();
  const { open, escalate, resolve, press, cards, current, stored } = inbox;

  /** Positions on screen. */
  const placesOf = (selector: string) =>
    inbox.browser.page
      .locator(selector)
      .evaluateAll((all) => all.map((element) => JSON.stringify([element.className, element.getBoundingClientRect()])));
  const askFor = (worker: string, ...requests: string[]) =>
    Promise.all(
      requests.map((request) =>
        inbox.stage.client.publish(`worker.${worker}.input.requested`, {
          kind: 'permission',
          request,
          tool: 'Bash',
          message: `Run ${request}?`,
        }),
      ),
    );

  test("shows waiting items, longest first, with the question and the agent's output", async () => {
    const { page } = inbox.browser;
    await escalate('ana', 'bob', 'cleo');
    await open('/');
    await page.locator('.grid tr[data-id="ana"]').waitFor();
    expect(await page.locator('tr[data-id="ana"] .c-why').innerText()).toBe('ana?');
    await press('i');
    await page.locator('.card').first().waitFor();
    expect(await cards()).toEqual(['ana', 'bob', 'cleo']);
    await expect.poll(current).toBe('ana');
    await page.locator('.question', { hasText: 'ana?' }).waitFor();
    await page.locator('.said', { hasText: 'ana? <promise>ESCALATE</promise>' }).waitFor();
    await inbox.title('(3) stopgate inspector');
    const icon = await page.locator('link[rel="icon"]').getAttribute('href');
    expect(icon).toBe('/icon/3.svg');
    expect(await (await fetch(`${inbox.stage.http.url}${icon}`)).text()).toContain('>3</text></svg>');
  });

  test('goes from sign-in to a resolved escalation by keyboard alone, and opens the next', async () => {
    const { page } = inbox.browser;
    await escalate('dora', 'earl', 'finn');
    let answer = () => {};
    const pressed = new Promise<void>((done) => {
      answer = done;
    });
    await page.route('**/api', (route) => pressed.then(() => route.continue()));
    await open('/?view=inbox');
    // Keys pressed before the page is loaded are executed afterwards.
    await press('j', 'j', 'k', 'k', 'r');
    answer();
    // The question stays visible.
    await inbox.question('dora?');
    await page.locator('textarea[name=answer]:focus').waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
    await page.unroute('**/api');
    expect(await current()).toBe('dora');
    await page.keyboard.type('The first one.');
    const isName = () => page.getByLabel('Who answers').evaluate((element) => element.matches(':focus'));
    for (let tabs = 0; tabs < 9 && !(await isName()); tabs += 1) await press('Tab');
    await page.keyboard.type('Ann');
    await press('Enter');
    await page.getByLabel('Operator token').waitFor();
    await page.keyboard.type(operatorToken);
    await press('Enter');
    await expect.poll(current).toBe('earl');
    expect(await cards()).toEqual(['earl', 'finn']);
    await page.reload();
    await expect
      .poll(() => stored('dora.escalation.resolved'))
      .toEqual([{ by: 'Ann', verdict: 'resume', prompt: 'The first one.', seq: expect.any(Number) }]);
    await inbox.title('(2) stopgate inspector');
  });

  test('an acknowledgement needs no dialog if the name is known, and moves the item to the end', async () => {
    await escalate('gwen', 'hugo', 'iris');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('gwen?');
    await press('a');
    await expect.poll(cards).toEqual(['hugo', 'iris', 'gwen']);
    await expect.poll(current).toBe('hugo');
    expect(await stored('gwen.escalation.acknowledged')).toEqual([{ by: 'Ann', seq: expect.any(Number) }]);
  });

  test('a key acts on the visible card, and only once while held down', async () => {
    const { page } = inbox.browser;
    await escalate('lee', 'mia');
    await inbox.stage.client.publish('worker.hal.input.requested', { kind: 'permission', tool: 'Bash' });
    await open('/?view=inbox&worker=lee', { as: 'Ann' });
    await inbox.question('lee?');
    await expect.poll(cards).toEqual(['lee', 'mia', 'hal']);
    // No frame is drawn until they are released.
    await page.evaluate(`
      window.kept = [];
      window.draw = window.requestAnimationFrame;
      window.requestAnimationFrame = (run) => window.kept.push(run);`);
    await press('a');
    await page.waitForURL(/worker=mia/);
    await press('a');
    await expect.poll(() => stored('lee.escalation.acknowledged')).toHaveLength(2);
    await page.evaluate(`
      window.requestAnimationFrame = window.draw;
      for (const run of window.kept) window.draw(run);`);
    await expect.poll(current).toBe('mia');
    expect(await stored('mia.escalation.acknowledged')).toEqual([]);
    await inbox.question('mia?');
    await page.keyboard.down('a');
    await page.keyboard.down('a');
    await page.keyboard.up('a');
    await expect.poll(cards).toEqual(['hal', 'lee', 'mia']);
    expect(await stored('mia.escalation.acknowledged')).toHaveLength(1);
  });

  test('an item acted on earlier is not opened past when someone else settles it', async () => {
    const { page } = inbox.browser;
    await escalate('otto', 'pia');
    await open('/?view=inbox&worker=pia', { as: 'Ann' });
    await inbox.question('pia?');
    // Acknowledged twice: the second time changes nothing.
    for (let times = 0; times < 2; times += 1) {
      const answer = page.waitForResponse(/operator\/acknowledge/);
      await page.locator('.card[data-id="pia"] a').click();
      await inbox.question('pia?');
      await press('a');
      await (await answer).finished();
      await page.locator('.card[data-id="pia"] [data-note="acknowledged"]').waitFor();
    }
    await page.locator('.card[data-id="pia"] a').click();
    await inbox.question('pia?');
    await escalate('quin');
    await page.locator('.card[data-id="quin"]').waitFor();
    await resolve('pia');
    await page.locator('.card[data-id="pia"][data-gone]').waitFor();
    expect(await current()).toBe('pia');
  });

  test('the section "why" of a busy worker does not change under the pointer or focus', async () => {
    const { page } = inbox.browser;
    const { client } = inbox.stage;
    const plan = (status: string) =>
      client.publish('worker.amy.plan.updated', { steps: [{ title: 'Write tests', status }] });
    await plan('pending');
    await client.ask('decide.amy');
    await open('/?worker=amy');
    const outcome = page.locator('aside .decision > .sentence');
    await page.locator('aside .attempts').waitFor();
    const before = await outcome.innerText();
    await outcome.hover();
    const parts = 'aside #section :is(section, summary, .sentence)';
    const places = await placesOf(parts);
    await client.ask('decide.amy', { output: 'Which one? <promise>ESCALATE</promise>' });
    const news = page.locator('aside .withheld span', { hasText: /^\d+ new, shown when you leave/ });
    await news.waitFor();
    expect(await outcome.innerText()).toBe(before);
    expect(await placesOf(parts)).toEqual(places);
    expect(await inbox.browser.axe()).toEqual([]);
    await page.mouse.move(5, 5);
    await page.locator('aside .escalation', { hasText: 'Which one?' }).waitFor();
    await news.waitFor({ state: 'hidden' });
    // The keyboard focus has an equal effect.
    await page.locator('aside [role="tab"][aria-selected="true"]').focus();
    await press('Tab');
    expect(await page.evaluate(`document.activeElement.closest('#section') !== null`)).toBe(true);
    await resolve('amy');
    await news.waitFor();
    expect(await page.locator('aside .resolution').count()).toBe(0);
    await page.locator('aside h2').focus();
    await page.locator('aside .resolution', { hasText: 'by Bob' }).waitFor();
  });

  test('an answered request keeps its place, so that the next one is not under the pointer', async () => {
    const { page } = inbox.browser;
    await askFor('eve', 'p1', 'p2', 'p3');
    await open('/?view=inbox&worker=eve', { as: 'Ann' });
    const request = (name: string) => page.locator('aside .escalation li', { hasText: `Run ${name}?` });
    await request('p3').waitFor();
    const places = await placesOf('aside .escalation :is(li, button)');
    await request('p1').getByRole('button', { name: 'Allow' }).click();
    await request('p1').filter({ hasText: 'You have answered.' }).waitFor();
    // Another one waits for an answer.
    expect(await cards()).toEqual(['eve']);
    expect(await request('p1').getByRole('button', { name: 'Allow' }).isDisabled()).toBe(true);
    expect(await placesOf('aside .escalation :is(li, button)')).toEqual(places);
    // Answered by someone else, and a new request, which waits.
    const answer = { id: 'eve', by: 'Bob', verdict: 'deny', request: 'p2' };
    await inbox.stage.post('operator/answer', answer, operatorToken);
    await request('p2').filter({ hasText: 'No longer waiting.' }).waitFor();
    await request('p1').filter({ hasText: 'No longer waiting.' }).waitFor();
    await askFor('eve', 'p4');
    await page.locator('aside .withheld span', { hasText: 'new, shown when you leave' }).waitFor();
    expect(await placesOf('aside .escalation :is(li, button)')).toEqual(places);
    await page.mouse.move(5, 5);
    await request('p4').waitFor();
    expect(await page.locator('aside .escalation li').count()).toBe(2);
    expect(await stored('eve.input.answered')).toEqual([
      { by: 'Bob', request: 'p2', verdict: 'deny' },
      { by: 'Ann', request: 'p1', verdict: 'allow' },
    ]);
  });

  test('the second click of a double-click does not affect the next item', async () => {
    const { page } = inbox.browser;
    await escalate('max', 'ned');
    await open('/?view=inbox', { as: 'Ann' });
    await page.locator('aside .question', { hasText: 'max?' }).waitFor();
    const acknowledge = await page.getByRole('button', { name: 'Acknowledge', exact: true }).boundingBox();
    const [x, y] = [(acknowledge?.x ?? 0) + 9, (acknowledge?.y ?? 0) + 9];
    await page.mouse.click(x, y);
    await page.locator('aside .question', { hasText: 'ned?' }).waitFor();
    // The browser counts by time and place, whatever is there by then.
    await page.mouse.move(x, y);
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.mouse.click(x, y);
    await expect.poll(() => stored('ned.escalation.acknowledged')).toHaveLength(1);
    expect(await stored('max.escalation.acknowledged')).toHaveLength(1);
  });

  test('the inbox keeps its order while items come and go, even when a notice appears', async () => {
    const { page } = inbox.browser;
    await escalate('jim', 'kit', 'len');
    await inbox.stage.client.publish('worker.hank.input.requested', { kind: 'permission', tool: 'Bash' });
    await open('/?view=inbox&worker=jim', { as: 'Ann' });
    await inbox.question('jim?');
    await expect.poll(cards).toEqual(['jim', 'kit', 'len', 'hank']);
    await page.locator('.card[data-id="len"]').hover();
    const shown = '.card[data-id="len"], .card[data-id="hank"], aside [data-action]';
    const before = await placesOf(shown);
    await resolve('kit');
    await page.locator('.card[data-id="kit"][data-gone]').waitFor();
    await escalate('may');
    await page.locator('.card[data-id="may"]').waitFor();
    expect(await cards()).toEqual(['jim', 'kit', 'len', 'hank', 'may']);
    await press('p');
    await page.locator('.notice', { hasText: 'Paused at entry' }).waitFor();
    expect(await placesOf(shown)).toEqual(before);
    await press('p');
    await page.locator('[data-connection="live"]').waitFor();
    expect(await placesOf(shown)).toEqual(before);
    // The open item stays too when someone else has settled it, so that the next key cannot hit another.
    await resolve('jim');
    await page.locator('.card[data-id="jim"][data-gone]').waitFor();
    await page.locator('aside .resolution', { hasText: 'by Bob' }).waitFor();
    expect(await current()).toBe('jim');
    await press('s');
    await page.getByText('jim is no longer waiting.').waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
    // The key has sorted the list. The open item keeps its place, so there is nothing left to sort.
    await expect.poll(cards).toEqual(['jim', 'len', 'hank', 'may']);
    await page.getByRole('button', { name: 'Sort again' }).waitFor({ state: 'detached' });
    await press('j');
    await expect.poll(cards).toEqual(['len', 'hank', 'may']);
    expect(await current()).toBe('len');
  });

  test('? shows all keys, and Ctrl-K finds a worker by a part of its name', async () => {
    const { page } = inbox.browser;
    await inbox.stage.client.ask('decide.zelda');
    await open('/');
    await page.locator('.grid tr[data-id="zelda"]').waitFor();
    await press('?');
    await page.locator('dialog', { hasText: 'Acknowledge' }).waitFor();
    expect(await inbox.browser.axe()).toEqual([]);
    await press('Escape', 'Control+k');
    await page.locator('dialog').getByRole('combobox').waitFor();
    await page.keyboard.type('zel');
    await page.getByRole('option', { name: 'zelda' }).waitFor();
    expect(await inbox.browser.axe()).toEqual([]);
    await press('Enter');
    await page.locator('aside h2', { hasText: 'zelda' }).waitFor();
  });
});
