/** Answering: in two keys, for all that ask the same, including the task, with undo. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { useInbox } from '../../support/inbox.ts';

describeInBrowser('an answer in the inbox', () => {
  const inbox = useInbox();
  const { open, press, cards, current, stored } = inbox;
  const ask = async (question: string, ...workers: string[]) => {
    for (const worker of workers)
      await inbox.stage.client.ask(`decide.${worker}`, { output: `${question} <promise>ESCALATE</promise>` });
  };
  const undo = () => inbox.browser.page.getByRole('button', { name: /^Undo \(\d+ s\)/ });
  const decided = {
    by: 'Ann',
    verdict: 'resume',
    prompt: expect.stringContaining('Do not decide this yourself'),
    seq: expect.any(Number),
  };

  test('takes two keys, opens the next one, and is sent after ten seconds', async () => {
    const { page } = inbox.browser;
    await ask('Which key?', 'ana');
    await ask('Which port?', 'bob');
    await open('/', { as: 'Ann' });
    await page.locator('.grid tr[data-id="bob"]').waitFor();
    await press('i');
    await inbox.question('Which key?');
    await press('1');
    await expect.poll(current).toBe('bob');
    expect(await cards()).toEqual(['bob']);
    await undo().waitFor();
    expect(await stored('ana.escalation.resolved')).toEqual([]);
    await expect.poll(() => stored('ana.escalation.resolved')).toEqual([decided]);
    await undo().waitFor({ state: 'detached' });
    expect(await cards()).toEqual(['bob']);
  });

  test('to ten questions takes at most twelve keys', async () => {
    const { page } = inbox.browser;
    const asked = { kind: 'permission', tool: 'Bash', message: 'Run it?' };
    const choices = [{ question: 'Which key?', options: [{ label: 'Old' }, { label: 'New' }] }];
    for (const worker of ['t1', 't2', 't3', 't4']) await ask(`Which way, ${worker}?`, worker);
    for (const worker of ['t5', 't6', 't7'])
      await inbox.stage.client.publish(`worker.${worker}.input.requested`, { ...asked, request: 'p', detail: worker });
    await inbox.stage.client.publish('worker.t8.input.requested', {
      kind: 'question',
      request: 'q',
      tool: 'AskUserQuestion',
      detail: { questions: choices },
    });
    for (const worker of ['t9', 't10']) {
      await inbox.stage.client.publish(`worker.${worker}.task.claimed`, { task: `${worker}-task` });
      await inbox.stage.client.publish(`worker.${worker}.task.failed`, {
        task: `${worker}-task`,
        reason: `${worker}?`,
      });
    }
    await open('/', { as: 'Ann' });
    let keys = 0;
    const key = async (name: string) => {
      keys += 1;
      await press(name);
    };
    await page.locator('nav .size.urgent', { hasText: '10' }).waitFor();
    await key('i');
    for (let left = 10; left > 0; left -= 1) {
      await page.locator('aside [data-answer="1"]:enabled').first().waitFor();
      expect(await page.locator('search', { hasText: `${left} wait` }).count()).toBe(1);
      await key('1');
      if (left > 1) await page.locator('search', { hasText: new RegExp(`^${left - 1} waits?`) }).waitFor();
    }
    await page.getByText('Nobody waits for you').waitFor();
    expect(keys).toBeLessThanOrEqual(12);
    await page.reload();
    for (const worker of ['t5', 't6', 't7'])
      await expect.poll(() => stored(`${worker}.input.answered`)).toMatchObject([{ verdict: 'allow' }]);
    await expect.poll(() => stored('t8.input.answered')).toMatchObject([{ message: 'Old' }]);
    for (const worker of ['t1', 't2', 't3', 't4'])
      await expect.poll(() => stored(`${worker}.escalation.resolved`)).toEqual([decided]);
    for (const worker of ['t9', 't10'])
      await expect.poll(async () => (await inbox.stage.get(`get/task/${worker}-task`)).body.state).toBe('idle');
  });

  test('can be undone by a key until then', async () => {
    await ask('Which key?', 'cleo');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('Which key?');
    await press('e');
    await inbox.browser.page.keyboard.type('The new one.');
    await press('Enter');
    await inbox.browser.page.getByText('Nobody waits for you').waitFor();
    await press('u');
    await expect.poll(cards).toEqual(['cleo']);
    await inbox.question('Which key?');
    expect(await inbox.browser.page.getByLabel('Answer to cleo: its next prompt').inputValue()).toBe('The new one.');
    expect(await undo().count()).toBe(0);
    expect(await stored('cleo.escalation.resolved')).toEqual([]);
  });

  test('to a permission request can be undone too', async () => {
    const { page } = inbox.browser;
    const asked = { kind: 'permission', request: 'p1', tool: 'Bash', message: 'Run it?' };
    await inbox.stage.client.publish('worker.nan.input.requested', asked);
    await open('/?view=inbox', { as: 'Ann' });
    const allow = page.getByRole('button', { name: 'Allow' });
    await allow.click();
    await page.getByText('Nobody waits for you').waitFor();
    await undo().click();
    await expect.poll(cards).toEqual(['nan']);
    expect(await stored('nan.input.answered')).toEqual([]);
    await allow.click();
    await undo().waitFor();
    await page.reload(); // which sends it at once
    await expect.poll(() => stored('nan.input.answered')).toEqual([{ by: 'Ann', request: 'p1', verdict: 'allow' }]);
  });

  test('does not become the draft of an answer to a later question', async () => {
    const field = inbox.browser.page.getByLabel('Answer to pia: its next prompt');
    await ask('Which key?', 'pia');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('Which key?');
    await field.fill('The new one.');
    await press('Enter', 'u');
    await field.fill('The old one.');
    await press('Enter');
    await expect.poll(() => stored('pia.escalation.resolved')).toMatchObject([{ prompt: 'The old one.' }]);
    await ask('Which port?', 'pia');
    await inbox.question('Which port?');
    expect(await field.inputValue()).toBe('');
  });

  test('reaches a snoozed item', async () => {
    const { page } = inbox.browser;
    await ask('Which key?', 'quin');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('Which key?');
    await press('z');
    await page.goto(`${inbox.stage.http.url}/?worker=quin`);
    await page.getByLabel('Answer to quin: its next prompt').fill('The new one.');
    await press('Enter');
    await undo().waitFor();
    await page.goto('about:blank');
    await expect.poll(() => stored('quin.escalation.resolved')).toMatchObject([{ prompt: 'The new one.' }]);
    await open('/', { as: 'Ann' });
  });

  test('to a request for permission leaves the escalation of the same worker open', async () => {
    const { page } = inbox.browser;
    const field = page.getByLabel('Answer to rex: its next prompt');
    await ask('Which key?', 'rex');
    await inbox.stage.client.publish('worker.rex.input.requested', { kind: 'permission', request: 'p1', tool: 'Bash' });
    await open('/?worker=rex', { as: 'Ann' });
    await field.fill('The new one.');
    await page.getByRole('button', { name: 'Allow' }).click();
    await undo().waitFor();
    expect(await field.inputValue()).toBe('The new one.');
    await press('u');
  });

  test('is sent before its agent stops waiting, if that is sooner', async () => {
    const { page } = inbox.browser;
    const { client } = inbox.stage;
    await open('/?view=inbox', { as: 'Ann' });
    await page.getByText('Nobody waits for you').waitFor();
    await client.publish('worker.olga.worker.registered', { policy: 'brief' });
    await client.publish('worker.olga.input.requested', { kind: 'permission', request: 'p1', tool: 'Bash' });
    await page.getByRole('button', { name: 'Allow' }).click();
    await expect
      .poll(() => stored('olga.input.answered'), { timeout: 20_000 })
      .toEqual([{ by: 'Ann', request: 'p1', verdict: 'allow' }]);
  });

  test('is sent at once when the page is left', async () => {
    await ask('Which key?', 'dan');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('Which key?');
    await press('1');
    await undo().waitFor();
    await inbox.browser.page.goto('about:blank');
    await expect.poll(() => stored('dan.escalation.resolved')).toEqual([decided]);
    await open('/', { as: 'Ann' });
  });

  test('goes to all that ask the same, which are one card, and their tasks go back to the queue', async () => {
    const { page } = inbox.browser;
    await inbox.stage.client.publish('worker.eve.task.claimed', { task: 'E-1' });
    await ask('Which database?', 'eve', 'fay', 'gus');
    await ask('Which port?', 'hal');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('Which database?');
    expect(await cards()).toEqual(['eve', 'hal']);
    await page.locator('.card[data-id="eve"]', { hasText: 'and 2 more like this' }).waitFor();
    await press('1');
    await expect.poll(cards).toEqual(['hal']);
    await page.reload();
    for (const worker of ['eve', 'fay', 'gus'])
      await expect.poll(() => stored(`${worker}.escalation.resolved`)).toEqual([decided]);
    await expect.poll(async () => (await inbox.stage.get('get/task/E-1')).body.state).toBe('idle');
    await expect.poll(cards).toEqual(['hal']);
  });

  test('can wait: a snoozed item is hidden in this browser, even after a reload', async () => {
    const { page } = inbox.browser;
    await ask('Which key?', 'ida');
    await ask('Which port?', 'jan');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('Which key?');
    await press('z');
    await expect.poll(current).toBe('jan');
    await page.reload();
    await page.getByText('1 item is snoozed.').waitFor();
    expect(await cards()).toEqual(['jan']);
    await page.getByRole('button', { name: 'Show them' }).click();
    await expect.poll(cards).toEqual(['ida', 'jan']);
  });

  test('is not needed to retire several workers at once', async () => {
    const { page } = inbox.browser;
    await ask('Which key?', 'kim', 'lee');
    await open('/?view=inbox', { as: 'Ann' });
    await page.getByRole('button', { name: 'Select all' }).click();
    await page.getByText('2 marked:').waitFor();
    await page.getByRole('button', { name: 'Retire all…' }).click();
    await page.locator('dialog', { hasText: 'Retire 2 workers' }).waitFor();
    await press('Control+Enter');
    await page.getByText('Nobody waits for you').waitFor();
    expect(await inbox.browser.axe()).toEqual([]);
    for (const worker of ['kim', 'lee']) expect(await stored(`${worker}.worker.retired`)).toEqual([{ by: 'Ann' }]);
  });
});
