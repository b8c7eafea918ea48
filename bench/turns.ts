/** How many turns a second the machine makes, as a share of what a bare loop makes over the same model and tools. */
import { createAgent, defineTool, type Message, type Model, memoryStore, type ToolUse } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

const rounds = 3;
const shapes = [
  { name: 'one run of 200 turns', runs: 1, turns: 200 },
  { name: '200 runs of 10 turns at once', runs: 200, turns: 10 },
];

const look = defineTool({
  name: 'look',
  description: 'Looks it up.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  run: async ({ page }) => `Page ${page}: ${'found '.repeat(30)}`,
});

/** Two tools in each turn but the last. */
const modelFor = (turns: number): Model =>
  scriptedModel(({ number }) =>
    number === turns
      ? 'Done.'
      : {
          text: 'Two more.',
          toolUses: [2 * number, 2 * number + 1].map((page) => ({ name: 'look', input: { page } })),
        },
  );

async function runPawl(turns: number): Promise<void> {
  const budget = { maxTurns: turns };
  const agent = createAgent({
    model: modelFor(turns),
    tools: [look],
    budget,
    store: memoryStore(),
  });
  const { status } = await agent.start('Look it up.').result;
  if (status !== 'completed') throw new Error(`The run ended as ${status}`);
}

async function runBare(turns: number): Promise<void> {
  const model = modelFor(turns);
  const { signal } = new AbortController();
  const { name, description, inputSchema } = look;
  const tools = [{ name, description, inputSchema }];
  const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'Look it up.' }] }];
  const settings = { system: '', tools, toolChoice: 'auto', maxTokens: 1_024 } as const;
  while (true) {
    const request = { ...settings, messages: [...messages], streams: true, container: null };
    const { content, stopReason } = await model.call(request, { signal, onDelta: () => {} });
    messages.push({ role: 'assistant', content });
    if (stopReason !== 'tool_use') return;
    const uses = content.filter((block) => block.type === 'tool_use');
    messages.push({ role: 'user', content: await Promise.all(uses.map(callLook)) });
  }
}

async function callLook({ id, input }: ToolUse) {
  const parsed = await look.parse(input);
  if (!parsed.ok) throw new Error(parsed.problem);
  const { signal } = new AbortController();
  const context = { signal, idempotencyKey: id, runId: '', callId: id, attempt: 1 };
  const content = String(await look.run(parsed.value, { ...context, progress: () => {} }));
  return { type: 'tool_result', tool_use_id: id, content } as const;
}

/** Turns a second, the best of some rounds. */
async function bestRate(
  run: (turns: number) => Promise<void>,
  { runs, turns }: { readonly runs: number; readonly turns: number },
): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await Promise.all(Array.from({ length: runs }, () => run(turns)));
    rates.push((runs * turns * 1_000) / (performance.now() - start));
  }
  return Math.max(...rates);
}

await runBare(20);
await runPawl(20);
for (const shape of shapes) {
  const bare = await bestRate(runBare, shape);
  const pawl = await bestRate(runPawl, shape);
  console.log(
    `${shape.name}: ${pawl.toFixed(0)} turns/s, bare loop ${bare.toFixed(0)}; ${(bare / pawl).toFixed(1)} × the time`,
  );
}
