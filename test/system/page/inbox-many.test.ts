/** Bulk actions in the inbox: several workers, workers with their tasks; and permission requests. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { useInbox } from '../../support/inbox.ts';

describeInBrowser('the inbox, for many', () => {
  const inbox = useInbox(/409 \(Conflict\)/);
  const { open, escalate, resolve, press, cards, current, stored } = inbox;
  const dialog = (text: string) => inbox.browser.page.locator('dialog', { hasText: text }).waitFor();
  const mark = (worker: string) => inbox.browser.page.getByLabel(`Mark worker ${worker}`).check();
  const nobodyWaits = () => inbox.browser.page.getByText('Nobody waits for you').waitFor();

  test('acts on the marked items', async () => {
    const { page } = inbox.browser;
    await escalate('bob', 'cleo', 'dan');
    await open('/?view=inbox&worker=cleo', { as: 'Ann' });
    await inbox.question('cleo?');
    await press('x');
    await page.getByText('1 marked:').waitFor();
    await press('j');
    await expect.poll(current).toBe('dan');
    await press('x');
    await page.getByText('2 marked:').waitFor();
    await press('r');
    // Both ask something, so no suggestion decides it.
    await page.getByRole('button', { name: 'Do not decide this yourself' }).waitFor();
    await dialog('They may continue. Each agent gets your text as its next prompt.');
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'hidden' });
    await press('s');
    await dialog('Stop 2 workers');
    await dialog('cleo cleo?');
    expect(await inbox.browser.axe()).toEqual([]);
    await press('Control+Enter');
    await expect.poll(cards).toEqual(['bob']);
    for (const worker of ['cleo', 'dan'])
      expect(await stored(`${worker}.escalation.resolved`)).toEqual([
        { by: 'Ann', verdict: 'stop', seq: expect.any(Number) },
      ]);
    // The stream is faster than the replies, which close the dialog.
    await page.locator('dialog').waitFor({ state: 'detached' });
    await inbox.question('bob?');
    await press('s');
    await page.getByRole('button', { name: 'Let it stop' }).and(page.locator(':focus')).waitFor();
    await press('Enter');
    await nobodyWaits();
    await inbox.title('stopgate inspector');
  });

  test('offers to retry only the failed ones, and reports what was done', async () => {
    const { page } = inbox.browser;
    await escalate('rosa', 'sven', 'tina');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('rosa?');
    for (const worker of ['rosa', 'sven', 'tina']) await mark(worker);
    await press('r');
    await dialog('Resume 3 workers');
    await page.getByLabel('Prompt for the agents (optional)').fill('Take the second.');
    await resolve('sven');
    await press('Control+Enter');
    await page
      .getByText('Resume failed for sven: worker sven is not escalated, it is stopped. Resumed: rosa, tina')
      .first()
      .waitFor();
    await dialog('Resume worker sven');
    expect(await page.getByLabel('Prompt for the agent (optional)').inputValue()).toBe('Take the second.');
    await press('Control+Enter');
    await page.locator('dialog', { hasText: 'Resume failed: worker sven is not escalated' }).waitFor();
    for (const worker of ['rosa', 'tina'])
      expect(await stored(`${worker}.escalation.resolved`)).toEqual([
        { by: 'Ann', verdict: 'resume', prompt: 'Take the second.', seq: expect.any(Number) },
      ]);
  });

  test('shows what an agent asks permission for, and answers it', async () => {
    const { page } = inbox.browser;
    await open('/?view=inbox', { as: 'Ann' });
    await nobodyWaits();
    const asked = {
      kind: 'permission',
      request: 'p1',
      tool: 'Bash',
      message: 'Remove the build?',
      detail: 'rm -rf dist',
    };
    await inbox.stage.client.publish('worker.eve.input.requested', asked);
    await page.locator('.card', { hasText: 'Bash: Remove the build?' }).waitFor();
    // The only item, so it is opened automatically.
    await page.locator('aside .question', { hasText: 'Bash Remove the build?' }).waitFor();
    await page.locator('aside', { hasText: 'rm -rf dist' }).waitFor();
    // The agent is to go on with its plan, which is no reason to deny something.
    await inbox.stage.client.publish('worker.eve.plan.updated', { steps: [{ title: 'Tidy up', status: 'pending' }] });
    await page.getByRole('button', { name: 'Deny…' }).click();
    await page.locator('input[name=reason]:focus').waitFor();
    expect(await inbox.browser.axe()).toEqual([]);
    // The command stays visible, and nothing is decided.
    expect(await page.locator('dialog').count()).toBe(0);
    await press('Escape');
    await page.getByRole('button', { name: 'Deny…' }).and(page.locator(':focus')).waitFor();
    expect(await page.locator('input[name=reason]').count()).toBe(0);
    // It is not escalated: the key leads to its answers.
    await press('a');
    await page.getByText('Choose an answer with Tab, then Enter.').waitFor();
    await press('Enter');
    await nobodyWaits();
    await page.reload();
    await expect.poll(() => stored('eve.input.answered')).toEqual([{ by: 'Ann', request: 'p1', verdict: 'allow' }]);
  });

  test('answers all that ask exactly the same at once, but not one that asks for another command', async () => {
    const { page } = inbox.browser;
    const { client } = inbox.stage;
    const asks = (worker: string, command: string) =>
      client.publish(`worker.${worker}.input.requested`, {
        kind: 'permission',
        request: `of-${worker}`,
        tool: 'Bash',
        message: 'Clean up?',
        detail: { command },
      });
    for (const worker of ['kay', 'lou', 'moe']) await asks(worker, 'rm -rf dist');
    await asks('ned', 'rm -rf .git');
    await open('/?view=inbox&worker=kay', { as: 'Ann' });
    await page.getByLabel('Send the same answer to all 3 that ask exactly this').waitFor();
    await page.getByRole('button', { name: 'Deny…' }).click();
    await page.getByLabel('Reason, for the agent (optional)').fill('Not now.');
    await press('Enter');
    await expect.poll(cards).toEqual(['ned']);
    await page.reload();
    const denied = (request: string) => ({ by: 'Ann', request, verdict: 'deny', message: 'Not now.' });
    for (const worker of ['kay', 'lou', 'moe'])
      await expect.poll(() => stored(`${worker}.input.answered`)).toEqual([denied(`of-${worker}`)]);
    expect(await stored('ned.input.answered')).toEqual([]);
  });

  test("shows an agent's question with its choices, and answers with one of them", async () => {
    const { page } = inbox.browser;
    await open('/?view=inbox', { as: 'Ann' });
    const choice = (label: string) => ({ label, description: `that is ${label}` });
    const questions = [{ question: 'Which key?', multiSelect: false, options: [choice('Old'), choice('New')] }];
    const asked = { kind: 'question', tool: 'AskUserQuestion', detail: { questions } };
    // Reported by one hook and held by another, but shown once.
    await inbox.stage.client.publish('worker.fay.input.requested', asked);
    await inbox.stage.client.publish('worker.fay.input.requested', { ...asked, request: 'q1' });
    await page.getByRole('group', { name: 'Which key?' }).waitFor();
    await page.locator('.card-text', { hasText: 'Which key?' }).waitFor();
    expect(await page.locator('aside .escalation li').count()).toBe(1);
    expect(await inbox.browser.axe()).toEqual([]);
    await page.getByLabel('New that is New').check();
    await page.getByRole('button', { name: 'Answer' }).click();
    await expect
      .poll(() => stored('fay.input.answered'))
      .toEqual([{ by: 'Ann', request: 'q1', verdict: 'allow', message: 'New' }]);
    await inbox.stage.client.publish('worker.fay.input.received', {});
    await nobodyWaits();
  });

  test('a choice takes two keys', async () => {
    const { page } = inbox.browser;
    const questions = [{ question: 'Which key?', options: [{ label: 'Old' }, { label: 'New' }] }];
    const asked = { kind: 'question', request: 'q1', tool: 'AskUserQuestion', detail: { questions } };
    await inbox.stage.client.publish('worker.gus.input.requested', asked);
    await open('/', { as: 'Ann' });
    await page.locator('tr[data-id="gus"]').waitFor();
    await press('i');
    await page.getByRole('group', { name: 'Which key?' }).waitFor();
    // In the panel as in the list; the question alone says what is asked.
    for (const place of ['aside .escalation', '.card[data-id="gus"]'])
      await page.locator(`${place} .left`, { hasText: /^9m \d+s left$/ }).waitFor();
    expect(await page.locator('aside .sentence').count()).toBe(0);
    // There is no such choice, so none is chosen.
    await press('3');
    await page.getByText('Choose an answer with Tab, then Enter.').waitFor();
    expect(await page.locator('aside .choice input:checked').count()).toBe(0);
    expect(await page.locator('aside .choice input:focus').count()).toBe(1);
    await press('2');
    await expect
      .poll(() => stored('gus.input.answered'))
      .toEqual([{ by: 'Ann', request: 'q1', verdict: 'allow', message: 'New' }]);
    await inbox.stage.client.publish('worker.gus.input.received', {});
    await nobodyWaits();
  });

  test('marked items that need an answer are skipped with a message', async () => {
    const { page } = inbox.browser;
    await escalate('uma');
    await inbox.stage.client.publish('worker.vic.input.requested', { kind: 'permission', request: 'p1', tool: 'Bash' });
    await open('/?view=inbox&worker=uma', { as: 'Ann' });
    await inbox.question('uma?');
    await mark('vic');
    await press('s');
    await page.getByText('1 item needs an answer: answer one at a time.').waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
    await mark('uma');
    await press('s');
    await dialog('Stop worker uma');
  });

  test('a task escalated with its worker shares its item until only the task waits', async () => {
    const { page } = inbox.browser;
    const { client } = inbox.stage;
    await client.publish('worker.gus.task.claimed', { task: 'G-1' });
    await escalate('gus');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('gus?');
    expect((await inbox.stage.get('get/task/G-1')).body.state).toBe('escalated');
    expect(await cards()).toEqual(['gus']);
    await page.getByLabel('What happens to G-1').selectOption('stays escalated, as a separate item');
    await press('s', 'Enter');
    await page.locator('.card[data-id="G-1"]', { hasText: 'Escalated with gus, which no longer waits' }).waitFor();
    await page.locator('.card[data-id="G-1"] a').click();
    await page.locator('aside', { hasText: 'which is stopped now. This task still waits' }).waitFor();
    await page.getByLabel('Answer G-1').getByRole('button', { name: 'Cancel it' }).waitFor();
    await press('e', 'Enter');
    await nobodyWaits();
    await page.getByRole('button', { name: /^Undo \(\d+ s\)/ }).click();
    await page.getByLabel('Answer G-1').waitFor();
    await press('s', 'Enter');
    await nobodyWaits();
    await page.reload();
    await expect.poll(async () => (await inbox.stage.get('get/task/G-1')).body.outcome).toBe('cancelled');
  });

  test('a worker and the task that was escalated with it can be answered at once', async () => {
    const { page } = inbox.browser;
    await inbox.stage.client.publish('worker.ian.task.claimed', { task: 'I-1' });
    await escalate('ian');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('ian?');
    await press('r', 'Enter');
    await nobodyWaits();
    await page.reload();
    await expect.poll(async () => (await inbox.stage.get('get/task/I-1')).body.state).toBe('idle');
  });

  test('closing a dialog does not close one requested before the next frame', async () => {
    const { page } = inbox.browser;
    await escalate('lee');
    await open('/?view=inbox', { as: 'Ann' });
    await inbox.question('lee?');
    await press('x');
    for (const [key, title] of Object.entries({ s: 'Stop worker lee', r: 'Resume worker lee' })) {
      await press('s');
      await dialog('Stop worker lee');
      await page.evaluate(`{
        document.querySelector('dialog').requestClose();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }));
      }`);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await page.locator('dialog[open]', { hasText: title }).waitFor();
      await press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
    }
  });
});
