/** The inbox: from the door to a resolved escalation with the keyboard alone; many at once; the count outside of the page. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;

const stored = (subject: string) => stage.client.stored('STOPGATE_main', `stopgate.main.own.worker.${subject}`);
const press = async (...keys: string[]) => {
  for (const key of keys) await browser.page.keyboard.press(key);
};
const current = () => browser.page.locator('.card[data-current]').getAttribute('data-id');
const cards = () => browser.page.locator('.card').evaluateAll((all) => all.map((it) => it.getAttribute('data-id')));
const title = (text: string) => expect.poll(() => browser.page.title()).toBe(text);

describeInBrowser('the inbox', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: { default: { promises: true, ask: '10m' } } } });
    for (const worker of ['ana', 'bob', 'cleo', 'dan'])
      await stage.client.ask(`decide.${worker}`, { output: `Which of ${worker}'s? <promise>ESCALATE</promise>` });
    browser = await openBrowser(() => [stage.http.url]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('shows who waits, the longest first, with the question and what the agent said', async () => {
    const { page } = browser;
    await page.goto(stage.http.url);
    await page.locator('.grid tr[data-id="ana"]').waitFor();
    expect(await page.locator('tr[data-id="ana"] .c-why').innerText()).toBe("Which of ana's?");
    await press('i');
    await page.locator('.card').first().waitFor();
    expect(await cards()).toEqual(['ana', 'bob', 'cleo', 'dan']);
    expect(await current()).toBe('ana');
    await page.locator('.question', { hasText: "Which of ana's?" }).waitFor();
    await page.locator('.said', { hasText: "Which of ana's? <promise>ESCALATE</promise>" }).waitFor();
    await title('(4) stopgate inspector');
    const icon = await page.locator('link[rel="icon"]').getAttribute('href');
    expect(icon).toBe('/icon/4.svg');
    expect(await (await fetch(`${stage.http.url}${icon}`)).text()).toContain('>4</text></svg>');
    expect(await browser.axe()).toEqual([]);
  });

  test('goes from the door to a resolved escalation by keys alone, and the next comes by itself', async () => {
    const { page } = browser;
    let answer = () => {};
    const pressed = new Promise<void>((done) => {
      answer = done;
    });
    await page.route('**/api', (route) => pressed.then(() => route.continue()));
    await page.goto(`${stage.http.url}/?view=inbox`);
    // What is pressed before the page knows anything is done once it does.
    await press('j', 'j', 'k', 'k', 'r');
    answer();
    await page.getByLabel('Operator token').waitFor();
    await page.unroute('**/api');
    expect(await current()).toBe('ana');
    await page.keyboard.type(operatorToken);
    await press('Enter');
    await page.getByLabel('Prompt for the agent (optional)').waitFor();
    await page.keyboard.type('The first one.');
    const isName = () => page.getByLabel('Your name (stored with the entry)').evaluate((it) => it.matches(':focus'));
    for (let tabs = 0; tabs < 9 && !(await isName()); tabs += 1) await press('Tab');
    await page.keyboard.type('Ann');
    await press('Control+Enter');
    await expect.poll(current).toBe('bob');
    expect(await stored('ana.escalation.resolved')).toEqual([
      { by: 'Ann', verdict: 'resume', prompt: 'The first one.' },
    ]);
    expect(await cards()).toEqual(['bob', 'cleo', 'dan']);
    await title('(3) stopgate inspector');
  }, 60_000);

  test('an acknowledgement asks nothing any more, and what is acknowledged is last', async () => {
    await press('a');
    await expect.poll(cards).toEqual(['cleo', 'dan', 'bob']);
    await expect.poll(current).toBe('cleo');
    expect(await stored('bob.escalation.acknowledged')).toEqual([{ by: 'Ann' }]);
  });

  test('acts on many that are marked', async () => {
    const { page } = browser;
    await press('x');
    await page.getByText('1 marked:').waitFor();
    await press('j');
    await expect.poll(current).toBe('dan');
    await press('x');
    await page.getByText('2 marked:').waitFor();
    await press('r');
    await page.getByRole('button', { name: 'Decide it yourself' }).waitFor();
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'hidden' });
    await press('s');
    await page.locator('dialog', { hasText: 'Stop 2 workers' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await press('Control+Enter');
    await expect.poll(cards).toEqual(['bob']);
    for (const worker of ['cleo', 'dan'])
      expect(await stored(`${worker}.escalation.resolved`)).toEqual([{ by: 'Ann', verdict: 'stop' }]);
    // The stream is quicker than the answers, which close the dialog.
    await page.locator('dialog').waitFor({ state: 'detached' });
    await press('s');
    await page.locator('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Nobody waits for you').waitFor();
    await title('stopgate inspector');
  });

  test('shows what an agent asks permission for, and answers it', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?view=inbox`);
    const asked = {
      kind: 'permission',
      request: 'p1',
      tool: 'Bash',
      message: 'Remove the build?',
      detail: 'rm -rf dist',
    };
    await stage.client.publish('worker.eve.input.requested', asked);
    await page.locator('.card', { hasText: 'Bash: Remove the build?' }).waitFor();
    // The only one, so it opens by itself.
    await page.locator('aside .question', { hasText: 'Bash Remove the build?' }).waitFor();
    await page.locator('aside', { hasText: 'rm -rf dist' }).waitFor();
    // The agent is to go on with its plan, which is no reason to deny something.
    await stage.client.publish('worker.eve.plan.updated', { steps: [{ title: 'Tidy up', status: 'pending' }] });
    await page.getByRole('button', { name: 'Deny…' }).click();
    await page.locator('dialog', { hasText: 'It gets your text as the reason.' }).waitFor();
    expect(await page.locator('dialog .suggestions').count()).toBe(0);
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'hidden' });
    // It is not escalated: the key leads to its answers.
    await press('a');
    await page.getByText('It asks for an answer: Tab to one, and Enter.').waitFor();
    await press('Enter');
    await page.getByText('Nobody waits for you').waitFor();
    expect(await stored('eve.input.answered')).toEqual([{ by: 'Ann', request: 'p1', verdict: 'allow' }]);
  });

  test('shows what an agent wants to know with its choices, and answers by one of them', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?view=inbox`);
    const choice = (label: string) => ({ label, description: `that is ${label}` });
    const questions = [{ question: 'Which key?', multiSelect: false, options: [choice('Old'), choice('New')] }];
    const asked = { kind: 'question', tool: 'AskUserQuestion', detail: { questions } };
    // Reported by one hook, held by another: it stands there once.
    await stage.client.publish('worker.fay.input.requested', asked);
    await stage.client.publish('worker.fay.input.requested', { ...asked, request: 'q1' });
    await page.getByRole('group', { name: 'Which key?' }).waitFor();
    await page.locator('.card-text', { hasText: 'Which key?' }).waitFor();
    expect(await page.locator('aside .escalation li').count()).toBe(1);
    expect(await browser.axe()).toEqual([]);
    await page.getByLabel('New that is New').check();
    await page.getByRole('button', { name: 'Answer' }).click();
    await expect
      .poll(() => stored('fay.input.answered'), { timeout: 20_000 })
      .toEqual([{ by: 'Ann', request: 'q1', verdict: 'allow', message: 'New' }]);
    await stage.client.publish('worker.fay.input.received', {});
    await page.getByText('Nobody waits for you').waitFor();
  }, 60_000);

  test('a task that was escalated with its worker is not a second item', async () => {
    await stage.client.publish('worker.gus.task.claimed', { task: 'G-1' });
    await stage.client.ask('decide.gus', { output: 'How? <promise>ESCALATE</promise>' });
    await browser.page.locator('.card').first().waitFor();
    expect((await stage.get('get/task/G-1')).body.state).toBe('escalated');
    expect(await cards()).toEqual(['gus']);
  });

  test('marked ones that ask for an answer are left out, and that is said', async () => {
    const { page } = browser;
    await stage.client.publish('worker.hal.input.requested', { kind: 'permission', request: 'p1', tool: 'Bash' });
    await page.locator('.card[data-id="gus"] a').click();
    await page.getByLabel('Mark worker hal').check();
    await press('s');
    await page.getByText('1 asks for an answer: answer one at a time.').waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
    await page.getByLabel('Mark worker gus').check();
    await press('s');
    await page.locator('dialog', { hasText: 'Stop worker gus' }).waitFor();
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'hidden' });
  });

  test('a task that waits on after its worker was resolved says so, and both can be answered at once', async () => {
    const { page } = browser;
    await page.locator('.card[data-id="gus"] a').click();
    await page.getByLabel('Mark worker gus').uncheck();
    await page.getByLabel('Mark worker hal').uncheck();
    await press('s');
    await page.getByLabel('Leave it escalated').waitFor();
    await press('Control+Enter');
    await page.locator('.card[data-id="G-1"]', { hasText: 'Escalated with gus, and still waits' }).waitFor();
    await page.locator('.card[data-id="G-1"] a').click();
    await page.locator('aside', { hasText: 'which is stopped now. This task still waits' }).waitFor();
    await press('s');
    await page.locator('dialog', { hasText: 'It is cancelled.' }).waitFor();
    await press('Control+Enter');
    await page.locator('.card[data-id="G-1"]').waitFor({ state: 'detached' });
    await stage.client.publish('worker.ian.task.claimed', { task: 'I-1' });
    await stage.client.ask('decide.ian', { output: 'How? <promise>ESCALATE</promise>' });
    await page.locator('.card[data-id="ian"] a').click();
    await press('r');
    await page.getByLabel('Back to its queue').check();
    await press('Control+Enter');
    await page.locator('.card[data-id="ian"]').waitFor({ state: 'detached' });
    await expect.poll(async () => (await stage.get('get/task/I-1')).body.state).toBe('idle');
    await expect.poll(cards).toEqual(['hal']);
  }, 60_000);

  test('nothing moves under the pointer, whoever comes or goes, nor when a notice appears', async () => {
    const { page } = browser;
    for (const worker of ['jon', 'kim', 'lee'])
      await stage.client.ask(`decide.${worker}`, { output: `${worker}? <promise>ESCALATE</promise>` });
    await expect.poll(cards).toEqual(['jon', 'kim', 'lee', 'hal']);
    await page.locator('.card[data-id="jon"] a').click();
    await page.locator('aside .question', { hasText: 'jon?' }).waitFor();
    await page.locator('.card[data-id="lee"]').hover();
    const places = () =>
      page
        .locator('.card[data-id="lee"], .card[data-id="hal"], aside [data-action]')
        .evaluateAll((all) => all.map((it) => JSON.stringify([it.className, it.getBoundingClientRect()])));
    const before = await places();
    const resolve = (id: string) =>
      stage.post('operator/resolve', { entity: 'worker', id, by: 'Bob', verdict: 'stop' }, operatorToken);
    await resolve('kim');
    await page.locator('.card[data-id="kim"][data-gone]').waitFor();
    await stage.client.ask('decide.mia', { output: 'mia? <promise>ESCALATE</promise>' });
    await page.locator('.card[data-id="mia"]').waitFor();
    expect(await cards()).toEqual(['jon', 'kim', 'lee', 'hal', 'mia']);
    await press('p');
    await page.locator('.notice', { hasText: 'Paused at entry' }).waitFor();
    expect(await places()).toEqual(before);
    expect(await browser.axe()).toEqual([]);
    await press('p');
    await page.locator('[data-connection="live"]').waitFor();
    expect(await places()).toEqual(before);
    // The one that is open stays too, when somebody else has settled it: what is pressed next is not for another.
    await resolve('jon');
    await page.locator('.card[data-id="jon"][data-gone]').waitFor();
    await page.locator('aside .resolution', { hasText: 'by Bob' }).waitFor();
    expect(await current()).toBe('jon');
    await press('s');
    await page.getByText('jon waits for nobody any more.').waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
    // The key has sorted the list: the open one keeps its place in the new order too, which leaves nothing to sort.
    await expect.poll(cards).toEqual(['jon', 'lee', 'mia', 'hal']);
    await page.getByRole('button', { name: 'Sort again' }).waitFor({ state: 'detached' });
    await press('j');
    await expect.poll(cards).toEqual(['lee', 'mia', 'hal']);
    expect(await current()).toBe('lee');
  }, 60_000);

  test('a key acts on the card that was on screen, and a key that is held down acts once', async () => {
    const { page } = browser;
    await page.mouse.move(0, 0);
    await page.locator('aside .question', { hasText: 'lee?' }).waitFor();
    // No frame is drawn until they are let go.
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
    await page.locator('aside .question', { hasText: 'mia?' }).waitFor();
    await page.keyboard.down('a');
    await page.keyboard.down('a');
    await page.keyboard.up('a');
    await expect.poll(cards).toEqual(['hal', 'lee', 'mia']);
    expect(await stored('mia.escalation.acknowledged')).toHaveLength(1);
  }, 60_000);

  test('what this page has acted on before is not taken for its work when somebody else settles it', async () => {
    const { page } = browser;
    await page.locator('.card[data-id="mia"] a').click();
    await page.locator('aside .question', { hasText: 'mia?' }).waitFor();
    // Acknowledged once more, which changes nothing.
    const answer = page.waitForResponse(/operator\/acknowledge/);
    await press('a');
    await (await answer).finished();
    await stage.client.ask('decide.nia', { output: 'nia? <promise>ESCALATE</promise>' });
    await page.locator('.card[data-id="nia"]').waitFor();
    const settled = { entity: 'worker', id: 'mia', by: 'Bob', verdict: 'stop' };
    await stage.post('operator/resolve', settled, operatorToken);
    await page.locator('.card[data-id="mia"][data-gone]').waitFor();
    expect(await current()).toBe('mia');
  }, 60_000);

  test('a dialog that is closed takes none with it that was asked for before the next frame', async () => {
    const { page } = browser;
    await page.locator('.card[data-id="lee"] a').click();
    for (const key of ['s', 'r']) {
      await press('s');
      await page.locator('dialog', { hasText: 'Stop worker lee' }).waitFor();
      await page.evaluate(`{
        document.querySelector('dialog').requestClose();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }));
      }`);
      const title = { s: 'Stop worker lee', r: 'Resume worker lee' }[key] ?? '';
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await page.locator('dialog[open]', { hasText: title }).waitFor();
      await press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
    }
  });

  test('? shows all keys, and Ctrl-K finds a worker by a part of its name', async () => {
    const { page } = browser;
    await press('w');
    await page.locator('.grid').waitFor();
    await press('?');
    await page.locator('dialog', { hasText: 'Acknowledge' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await press('Escape', 'Control+k');
    await page.locator('dialog').getByRole('combobox').waitFor();
    await page.keyboard.type('cle');
    await page.getByRole('option', { name: 'cleo' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await press('Enter');
    await page.locator('aside h2', { hasText: 'cleo' }).waitFor();
    expect(browser.problems()).toEqual([]);
  });
});
