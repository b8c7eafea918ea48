// Shows how to say something to a run that is under way: it joins the next message, behind the results.
// Prints what the model was sent with its second call, and its answer.
import { createAgent, defineTool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

const listTickets = defineTool({
  name: 'list_tickets',
  description: 'Titles of the open tickets, newest first.',
  input: z.object({}),
  effect: 'read',
  run: () => ['The door squeaks', 'The lamp flickers'],
});

const model = scriptedModel([
  { toolUses: [{ name: 'list_tickets' }] },
  'The newest ticket: the door squeaks.',
]);

const run = createAgent({ model, tools: [listTickets] }).start('Sum up the open tickets.');
run.steer('Only the newest one, please.');

const { text } = await run.result;
for (const block of model.requests[1]?.messages.at(-1)?.content ?? []) {
  if (block.type === 'tool_result') console.log('result:', block.content);
  if (block.type === 'text') console.log('steered:', block.text);
}
console.log(text);
