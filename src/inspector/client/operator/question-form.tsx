/** An agent's questions with their choices, and words of one's own, to be answered at once. */
import { type Choice, type Question, toMessage } from '../../../../machines/values/asked-questions.ts';
import { Text } from '../ui/text.tsx';

type Props = {
  readonly questions: readonly Question[];
  /** They wait no more. */
  readonly isGone: boolean;
  readonly send: (message: string) => void;
  readonly refuse: () => void;
};

export function QuestionForm({ questions, isGone, send, refuse }: Props) {
  const submit = (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const answers = questions.map((_, index) => {
      const own = String(fields.get(`own-${index}`) ?? '').trim();
      return [...fields.getAll(`choice-${index}`).map(String), ...(own === '' ? [] : [own])];
    });
    if (answers.every((it) => it.length > 0)) send(toMessage(questions, answers));
    else form.querySelector<HTMLElement>(`[name=own-${answers.findIndex((it) => it.length === 0)}]`)?.focus();
  };
  return (
    <form
      class="questions"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      {questions.map((it, index) => (
        <QuestionField key={it.question} question={it} name={String(index)} isGone={isGone} />
      ))}
      <p class="buttons">
        <button type="submit" class="primary" disabled={isGone}>
          Answer
        </button>
        <button type="button" disabled={isGone} onClick={refuse}>
          Deny…
        </button>
      </p>
    </form>
  );
}

type FieldProps = { readonly question: Question; readonly name: string; readonly isGone: boolean };

const QuestionField = ({ question: { question, isMultiple, choices }, name, isGone }: FieldProps) => (
  <fieldset disabled={isGone}>
    <legend>
      <Text value={question} max={600} />
    </legend>
    {choices.map((it) => (
      <ChoiceField key={it.label} choice={it} name={`choice-${name}`} type={isMultiple ? 'checkbox' : 'radio'} />
    ))}
    <label class="own">
      {choices.length === 0 ? 'Your answer' : 'Or in your words'}
      <input name={`own-${name}`} maxLength={1_000} autoComplete="off" />
    </label>
  </fieldset>
);

type ChoiceProps = { readonly choice: Choice; readonly name: string; readonly type: 'radio' | 'checkbox' };

const ChoiceField = ({ choice: { label, description }, name, type }: ChoiceProps) => (
  <label class="choice">
    <input type={type} name={name} value={label} />
    <span>
      <Text value={label} max={200} />
      {description !== '' && (
        <span class="muted">
          {' '}
          <Text value={description} max={200} />
        </span>
      )}
    </span>
  </label>
);
