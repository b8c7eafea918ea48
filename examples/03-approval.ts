// Shows calls that wait for a person: two mails at once, one is approved, the other denied with a reason.
// Prints what waits, the one mail that is sent, and what the model was told.
import { createAgent, defineTool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.email(), body: z.string() }),
  effect: 'once',
  run({ to, body }) {
    console.log(`sending to ${to}: ${body}`);
    return 'Sent.';
  },
});

const model = scriptedModel([
  {
    toolUses: [
      { id: 'mail_ada', name: 'send_mail', input: { to: 'ada@example.org', body: 'Green!' } },
      { id: 'mail_bob', name: 'send_mail', input: { to: 'bob@example.org', body: 'Green!' } },
    ],
  },
  'Ada knows. Bob is on holiday.',
]);

const agent = createAgent({ model, tools: [sendMail], permissions: { ask: ['send_mail'] } });

const run = agent.start('Tell Ada and Bob that the build is green.');
await run.idle();
for (const { callId, input } of run.pending) console.log('waiting:', callId, input);

await run.deny('mail_bob', 'Bob is on holiday.');
await run.approve('mail_ada');

const { text, messages } = await run.result;
for (const block of messages[2]?.content ?? []) {
  if (block.type === 'tool_result') console.log('told:', block.tool_use_id, block.content);
}
console.log(text);
