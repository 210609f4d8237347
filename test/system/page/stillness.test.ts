/** Nothing moves under the pointer: what is about to be clicked or read stays where it is, whatever comes. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { useInbox } from '../../support/inbox.ts';
import { operatorToken } from '../../support/stage.ts';

describeInBrowser('nothing moves under the pointer', () => {
  const inbox = useInbox();
  const { open, escalate, resolve, press, stored } = inbox;
  /** Where these are on screen. */
  const placesOf = (selector: string) =>
    inbox.browser.page
      .locator(selector)
      .evaluateAll((all) => all.map((it) => JSON.stringify([it.className, it.getBoundingClientRect()])));
  const askFor = (worker: string, ...requests: string[]) =>
    Promise.all(
      requests.map((request) =>
        inbox.stage.client.publish(`worker.${worker}.input.requested`, {
          ...{ kind: 'permission', request, tool: 'Bash', message: `Run ${request}?` },
        }),
      ),
    );

  test('why a busy worker is where it is waits for the pointer to leave, and for the keys', async () => {
    const { page } = inbox.browser;
    const { client } = inbox.stage;
    const plan = (status: string) =>
      client.publish('worker.ana.plan.updated', { steps: [{ title: 'Write tests', status }] });
    await plan('pending');
    await client.ask('decide.ana');
    await open('/?worker=ana');
    const reason = page.locator('aside .decision .reason');
    await page.locator('aside .attempts').waitFor();
    const before = await reason.innerText();
    await reason.hover();
    const parts = 'aside #section :is(section, summary, .reason)';
    const places = await placesOf(parts);
    await client.ask('decide.ana', { output: 'Which one? <promise>ESCALATE</promise>' });
    const news = page.locator('aside .withheld span', { hasText: /^\d+ new, shown when you point elsewhere/ });
    await news.waitFor();
    expect(await reason.innerText()).toBe(before);
    expect(await placesOf(parts)).toEqual(places);
    expect(await inbox.browser.axe()).toEqual([]);
    await page.mouse.move(5, 5);
    await page.locator('aside .escalation', { hasText: 'Which one?' }).waitFor();
    await news.waitFor({ state: 'hidden' });
    // The same for somebody who is in it by keyboard.
    await page.locator('aside [role="tab"][aria-selected="true"]').focus();
    await press('Tab');
    expect(await page.evaluate(`document.activeElement.closest('#section') !== null`)).toBe(true);
    await resolve('ana');
    await news.waitFor();
    expect(await page.locator('aside .resolution').count()).toBe(0);
    await page.locator('aside h2').focus();
    await page.locator('aside .resolution', { hasText: 'by Bob' }).waitFor();
  }, 60_000);

  test('an answered request keeps its place, so that the next one is not under the pointer', async () => {
    const { page } = inbox.browser;
    await askFor('eve', 'p1', 'p2', 'p3');
    await open('/?view=inbox&worker=eve', { as: 'Ann' });
    const request = (name: string) => page.locator('aside .escalation li', { hasText: `Run ${name}?` });
    await request('p3').waitFor();
    const places = await placesOf('aside .escalation :is(li, button)');
    await request('p1').getByRole('button', { name: 'Allow' }).click();
    await request('p1').filter({ hasText: 'It waits no more.' }).waitFor();
    expect(await request('p1').getByRole('button', { name: 'Allow' }).isDisabled()).toBe(true);
    expect(await placesOf('aside .escalation :is(li, button)')).toEqual(places);
    // Answered by somebody else, and a new one, which waits.
    const answer = { id: 'eve', by: 'Bob', verdict: 'deny', request: 'p2' };
    await inbox.stage.post('operator/answer', answer, operatorToken);
    await request('p2').filter({ hasText: 'It waits no more.' }).waitFor();
    await askFor('eve', 'p4');
    await page.locator('aside .withheld span', { hasText: 'new, shown when you point elsewhere' }).waitFor();
    expect(await placesOf('aside .escalation :is(li, button)')).toEqual(places);
    expect(await inbox.browser.axe()).toEqual([]);
    await page.mouse.move(5, 5);
    await request('p4').waitFor();
    expect(await page.locator('aside .escalation li').count()).toBe(2);
    expect(await stored('eve.input.answered')).toEqual([
      { by: 'Ann', request: 'p1', verdict: 'allow' },
      { by: 'Bob', request: 'p2', verdict: 'deny' },
    ]);
  }, 60_000);

  test('the second click of a double-click does nothing to the one that comes next', async () => {
    const { page } = inbox.browser;
    await escalate('ana', 'bob');
    await open('/?view=inbox', { as: 'Ann' });
    await page.locator('aside .question', { hasText: 'ana?' }).waitFor();
    const acknowledge = await page.getByRole('button', { name: 'Acknowledge', exact: true }).boundingBox();
    const [x, y] = [(acknowledge?.x ?? 0) + 9, (acknowledge?.y ?? 0) + 9];
    await page.mouse.click(x, y);
    await page.locator('aside .question', { hasText: 'bob?' }).waitFor();
    // The browser counts by time and place, whatever is there by then.
    await page.mouse.move(x, y);
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.mouse.click(x, y);
    await expect.poll(() => stored('bob.escalation.acknowledged')).toHaveLength(1);
    expect(await stored('ana.escalation.acknowledged')).toHaveLength(1);
  }, 60_000);
});
