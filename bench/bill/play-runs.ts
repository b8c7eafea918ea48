import { anthropic, createAgent, defineTool, type Run } from 'pawl';
import { type ScriptedReply, type ScriptedRequest, startScriptedServer } from 'pawl/testing';
import { z } from 'zod';
import type { JsonObject } from '../../src/core/json.ts';

/** A run to play, and the turns in which a person has a say. */
export interface Play {
  readonly model: string;
  readonly caching: '5m' | '1h';
  readonly turns: number;
  readonly toolsPerTurn: number;
  readonly steeredTurn?: number;
  readonly approvedTurn?: number;
  readonly deniedTurn?: number;
  /** So many runs after it, each with a prompt or with a system prompt of its own and all else the same. */
  readonly otherRuns?: { readonly count: number; readonly change: 'prompt' | 'system' };
}

/** What was sent for it, run by run and in order. */
export interface Played {
  readonly play: Play;
  readonly runs: readonly (readonly JsonObject[])[];
}

const steered = 'One more wish: name the oldest source, too.';
const denied = 'Not while the library is closed.';
const published = 'Published for all readers.';

const question = 'Which letters speak of the flood, and what do they say?';

const rules = [
  'You search an archive of letters and answer with what it holds.',
  ...Array.from(
    { length: 150 },
    (_, index) =>
      `Rule ${index + 1}: say what is known, say what is not, and name shelf ${(index * 37) % 101}, where it was found.`,
  ),
].join('\n');

const searchTools = Array.from({ length: 9 }, (_, index) =>
  defineTool({
    name: `search_room_${index + 1}`,
    description: `Searches room ${index + 1} of the archive. ${'It reads catalogue cards, letters and the notes of the librarians. '.repeat(6)}`,
    input: z.object({
      query: z.string().describe('What to look for, in a few words of the time.'),
      page: z.number().describe('Which page of the findings, from 1.'),
    }),
    effect: 'read',
    run: ({ query, page }) =>
      `Page ${page} for "${query}": ${`a letter, well kept, in box ${page}; `.repeat(8)}end.`,
  }),
);

const publish = defineTool({
  name: 'publish',
  description: 'Publishes a finding for all readers.',
  input: z.object({ finding: z.string() }),
  effect: 'once',
  run: () => published,
});

/** Plays the runs over loopback HTTP, with the real SDK. @throws Error when one did not go as it was planned. */
export async function playRuns(play: Play): Promise<Played> {
  const { count = 0, change } = play.otherRuns ?? {};
  const runs: (readonly JsonObject[])[] = [];
  for (let number = 0; number <= count; number += 1) {
    const own = `You work for reader ${number}.`;
    const prompt = change === 'prompt' ? `${own} ${question}` : question;
    runs.push(await playRun(play, prompt, change === 'system' ? `${own}\n${rules}` : rules));
  }
  return { play, runs };
}

async function playRun(play: Play, prompt: string, system: string): Promise<readonly JsonObject[]> {
  const bodies: JsonObject[] = [];
  const server = await startScriptedServer((request) => {
    bodies.push(request.body as unknown as JsonObject);
    return replyTo(play, request);
  });
  try {
    const { model, caching } = play;
    const agent = createAgent({
      model: anthropic(model, { apiKey: 'unused', baseURL: server.url, caching }),
      system,
      tools: [...searchTools, publish],
      budget: { maxTurns: play.turns },
    });
    const run = agent.start(prompt);
    await accompany(run, play);
    const { status, reason } = await run.result;
    if (status !== 'completed') throw new Error(`The run ended as ${status}: ${reason}`);
    if (bodies.length !== play.turns) throw new Error(`${bodies.length} calls were made`);
  } finally {
    await server.close();
  }
  checkSaid(play, JSON.stringify(bodies.at(-1)));
  return bodies;
}

function replyTo({ turns, ...play }: Play, { number }: ScriptedRequest): ScriptedReply {
  if (number === turns) return 'Three letters speak of the flood. The oldest lies in box 4.';
  const searches = Array.from({ length: play.toolsPerTurn }, (_, index) => ({
    name: `search_room_${(index % searchTools.length) + 1}`,
    input: { query: `the flood, as told in letter ${number}`, page: index + 1 },
  }));
  const isAsked = number === play.approvedTurn || number === play.deniedTurn;
  const finding = { name: 'publish', input: { finding: `Letter ${number} speaks of the flood.` } };
  return {
    text: `Letter ${number} may say more; I look it up.`,
    toolUses: isAsked ? [...searches.slice(1), finding] : searches,
  };
}

/** What a person does: a word in the middle of a turn, one yes, one no. */
async function accompany(run: Run, play: Play): Promise<void> {
  let turn = 0;
  for await (const event of run.events) {
    if (event.type === 'model.started') {
      turn = event.turn;
      if (turn === play.steeredTurn) run.steer(steered);
    }
    if (event.type !== 'approval.wanted') continue;
    if (turn === play.deniedTurn) await run.deny(event.callId, denied);
    else await run.approve(event.callId);
  }
}

function checkSaid({ steeredTurn, approvedTurn, deniedTurn }: Play, lastBody: string): void {
  const expected = [
    ...(steeredTurn === undefined ? [] : [steered]),
    ...(approvedTurn === undefined ? [] : [published]),
    ...(deniedTurn === undefined ? [] : [denied]),
  ];
  for (const words of expected) {
    if (!lastBody.includes(words)) throw new Error(`The model was never told: ${words}`);
  }
}
