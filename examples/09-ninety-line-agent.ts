// Shows the classic ninety-line agent: tools as a spec and its function, at most ten turns, a history kept.
// Prints each call with its result, the answer to a question, and the answer to a follow-up.
import { createAgent, defineTool, type Message } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

const weekdays = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' });
const number = z.number();
const date = z.iso.date();

/** What the model is told of a tool, paired with the function that does it. None of these changes anything. */
const tool = <Fields extends z.ZodRawShape>(
  name: string,
  description: string,
  fields: Fields,
  run: (input: z.infer<z.ZodObject<Fields>>) => unknown,
) => defineTool({ name, description, input: z.object(fields), effect: 'read', run });

const tools = [
  tool('multiply', 'a times b', { a: number, b: number }, ({ a, b }) => a * b),
  tool('divide', 'a divided by b', { a: number, b: number }, ({ a, b }) => a / b),
  tool('round', 'The nearest whole number', { value: number }, ({ value }) => Math.round(value)),
  tool('weekday', 'The day of a date', { date }, ({ date }) => weekdays.format(new Date(date))),
];

const model = scriptedModel([
  { toolUses: [{ name: 'multiply', input: { a: 1234, b: 567 } }] },
  { toolUses: [{ name: 'divide', input: { a: 699678, b: 8 } }] },
  { toolUses: [{ name: 'weekday', input: { date: '2026-11-29' } }] },
  'The product is 699678, the quotient 87459.75, and the day a Sunday.',
  { toolUses: [{ name: 'round', input: { value: 87459.75 } }] },
  'Rounded, it is 87460.',
]);

const agent = createAgent({ model, tools, budget: { maxTurns: 10 } });

async function ask(question: string, history: readonly Message[] = []) {
  console.log(`? ${question}`);
  const run = agent.start(question, { history });
  for await (const event of run.events) {
    if (event.type === 'tool.started') console.log(`  ${event.name}`, event.input);
    if (event.type === 'tool.settled') console.log(`  = ${event.result.content}`);
  }
  const { text, messages } = await run.result;
  console.log(`! ${text}`);
  return messages;
}

const history = await ask(
  'Multiply 1234 by 567, divide the product by 8, name the weekday of 2026-11-29.',
);
await ask('Now round the quotient.', history);
