// Shows what happens at a limit: an end, one last answer without tools, or a question to a person.
// Prints how three runs of the same endless reader end, and what each spent.
import { type AgentOptions, createAgent, defineTool, type RunResult } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

const readPage = defineTool({
  name: 'read_page',
  description: 'One page of a very long book.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  run: ({ page }) => `This is page ${page}.`,
});

/** Reads page after page, and answers only when it is told to, or after page 4. */
const reader = (options: Pick<AgentOptions, 'budget' | 'onLimit'>) =>
  createAgent({
    tools: [readPage],
    model: scriptedModel(({ number, body }) =>
      number > 4 || JSON.stringify(body.messages.at(-1)).includes('final answer')
        ? `I have read ${number - 1} pages.`
        : {
            toolUses: [{ name: 'read_page', input: { page: number } }],
            usage: { inputTokens: 1_000, outputTokens: 200 },
          },
    ),
    ...options,
  });

function show(title: string, { status, reason, text, budget: { spend } }: RunResult): void {
  console.log(`${title}: ${status} after ${spend.turns} model calls, ${spend.costUsd} US dollars`);
  console.log(`  ${reason} ${text}`);
}

// A ceiling: what a call could cost at worst is set aside first, and a call that does not fit is not made.
const stopping = reader({ budget: { maxCostUsd: 0.005 } });
show('stop', await stopping.start('Read the book.').result);

// One call is always held back, so that there is an answer at the end.
const wrapping = reader({ budget: { maxTurns: 3 }, onLimit: 'wrapUp' });
show('wrapUp', await wrapping.start('Read the book.').result);

// The run waits, for as long as it takes, and goes on with the raised budget.
const asking = reader({ budget: { maxTurns: 2 }, onLimit: 'ask' });
const run = asking.start('Read the book.');
await run.idle();
console.log(`waiting in ${run.state}`);
run.raiseBudget({ maxTurns: 10 });
show('ask', await run.result);
