// Shows a real model in the place of the scripted one: nothing else changes. Costs a fraction of a cent.
// Prints the text as it arrives and what it cost; without ANTHROPIC_API_KEY, how to set it.
import { anthropic, createAgent } from 'pawl';

if (!process.env.ANTHROPIC_API_KEY) {
  console.log('No key, so no call. Try: ANTHROPIC_API_KEY=… npx tsx examples/10-real-model.ts');
  process.exit(0);
}

const agent = createAgent({
  model: anthropic('claude-sonnet-5-5'),
  system: 'Answer in one sentence.',
  budget: { maxTurns: 1, maxCostUsd: 0.2 },
});

const run = agent.start('What is a pawl, in a ratchet?');
for await (const event of run.events) {
  if (event.type === 'text.delta') process.stdout.write(event.text);
}

const { status, reason, costUsd } = await run.result;
console.log(`\n${status} (${reason}) for ${costUsd} US dollars`);
