// Shows the smallest agent: a model, a prompt, an answer. `scriptedModel` plays its lines, so no key is needed.
// Prints the answer, how the run ended, and what it cost.
import { createAgent } from 'pawl';
import { scriptedModel } from 'pawl/testing';

const agent = createAgent({ model: scriptedModel(['Hello, Ada.']) });

const result = await agent.start('Greet Ada.').result;

console.log(result.text);
console.log(
  `${result.status}: ${result.budget.spend.turns} model call, ${result.costUsd} US dollars`,
);
