// Shows the second half, in another process, maybe days later: approve, and go on. Needs a-start.ts before it.
// Prints what still waits, the result of the call, and the answer.
import { readFile } from 'node:fs/promises';
import { agent, snapshotPath } from './agent.ts';

const run = await agent.resume(JSON.parse(await readFile(snapshotPath, 'utf8')));
await run.idle();
for (const { callId, name, input } of run.pending) {
  console.log('still waiting:', name, input);
  await run.approve(callId);
}

const { text, budget, messages } = await run.result;
for (const block of messages.at(-2)?.content ?? []) {
  if (block.type === 'tool_result') console.log('result:', block.content);
}
console.log(`${text} (${budget.spend.turns} model calls in both processes)`);
