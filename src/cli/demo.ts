/** The demo: a question, the tools to answer it, and a script for a machine without an API key. */
import { z } from 'zod';
import { isJsonObject } from '../core/json.ts';
import type { ScriptedReply, ScriptedRequest, WireBlock } from '../testing/script.ts';
import { defineTool } from '../tools/define-tool.ts';
import type { Tool } from '../tools/tool.ts';

export const demoQuestion =
  'Multiply 1234 by 567, divide the product by 13, and tell me the weekday.';

export function demoTools(now: () => Date = () => new Date()): readonly Tool[] {
  return [
    defineTool({
      name: 'multiply',
      description: 'Multiplies two numbers.',
      input: z.object({ a: z.number(), b: z.number() }),
      effect: 'read',
      run: ({ a, b }) => a * b,
    }),
    defineTool({
      name: 'divide',
      description: 'Divides a by b. Fails when b is 0.',
      input: z.object({ a: z.number(), b: z.number() }),
      effect: 'read',
      run: ({ a, b }) => {
        if (b === 0) throw new Error('A number cannot be divided by 0.');
        return a / b;
      },
    }),
    defineTool({
      name: 'weekday',
      description: 'The weekday of a date, or of today when no date is given.',
      input: z.object({ date: z.iso.date().optional().describe('YYYY-MM-DD') }),
      effect: 'read',
      run: ({ date }) => weekdayOf(date === undefined ? now() : new Date(`${date}T12:00:00`)),
    }),
  ];
}

const weekdayOf = (date: Date): string => date.toLocaleDateString('en-US', { weekday: 'long' });

/** What one tool came to in this conversation. */
interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

/** Name of the demo's agent in the store: such a run goes on with the script, whether or not there is a key by then. */
export const demoAgent = 'pawl-demo';

/**
 * Plays the demo's chain, for each question anew: two tool uses at once, one that needs the product, the answer.
 * Every number comes from the results in the request, and nothing from earlier
 * requests, so that a run which another process began goes on right.
 */
export function demoScript({ body }: ScriptedRequest): ScriptedReply {
  const answers = answersSinceQuestion(body.messages);
  const [product, quotient] = [answers.get('multiply'), answers.get('divide')];
  const mayUseTools = !isJsonObject(body.tool_choice) || body.tool_choice.type !== 'none';
  if (!mayUseTools) return { text: closing(answers) };
  if (product === undefined) return firstTurn;
  if (quotient === undefined && isNumber(product)) return divisionOf(Number(product.text));
  return { text: closing(answers) };
}

const firstTurn: ScriptedReply = {
  text: 'The product and the weekday do not depend on each other, so I ask for both at once.',
  toolUses: [
    { name: 'multiply', input: { a: 1234, b: 567 } },
    { name: 'weekday', input: {} },
  ],
};

const divisionOf = (product: number): ScriptedReply => ({
  text: `Now I can divide ${product}.`,
  toolUses: [{ name: 'divide', input: { a: product, b: 13 } }],
});

const isNumber = ({ text, isError }: Answer): boolean =>
  !isError && text.trim() !== '' && Number.isFinite(Number(text));

function closing(answers: ReadonlyMap<string, Answer>): string {
  return [
    sentence(answers.get('multiply'), 'The product', (product) => `1234 × 567 = ${product}.`),
    sentence(
      answers.get('divide'),
      'The quotient',
      (quotient) => `Divided by 13, that is ${quotient}.`,
    ),
    sentence(answers.get('weekday'), 'The weekday', (weekday) => `Today is ${weekday}.`),
  ].join(' ');
}

function sentence(answer: Answer | undefined, what: string, say: (text: string) => string): string {
  if (answer === undefined) return `${what} was not asked for.`;
  return answer.isError ? `${what} is not known (${answer.text})` : say(answer.text);
}

function answersSinceQuestion(
  messages: ScriptedRequest['body']['messages'],
): ReadonlyMap<string, Answer> {
  const blocks = messages.map(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  );
  const question = messages.findLastIndex(
    ({ role }, index) =>
      role === 'user' && !blocks[index]?.some(({ type }) => type === 'tool_result'),
  );
  const since = blocks.slice(question + 1).flat();
  const names = new Map(
    since.filter(({ type }) => type === 'tool_use').map(({ id, name }) => [id, String(name)]),
  );
  return new Map(
    since
      .filter(({ type }) => type === 'tool_result')
      .map((block) => [names.get(block.tool_use_id) ?? '', answerIn(block)]),
  );
}

/** The first line is the tool's: below it, Pawl says when a person changed the arguments. */
function answerIn({ content, is_error }: WireBlock): Answer {
  const all = Array.isArray(content) ? content.map(textOf).join('') : String(content ?? '');
  return { text: all.split('\n', 1).join(''), isError: is_error === true };
}

const textOf = (block: unknown): string =>
  isJsonObject(block) && typeof block.text === 'string' ? block.text : '';
