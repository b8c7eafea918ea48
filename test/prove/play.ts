/** Plays a scenario through the public API: starts it, answers it, disturbs it, kills it, and resumes it. */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { type Agent, createAgent, type Message, PawlError, type Run, type RunEvent } from 'pawl';
import { checkReplay } from './check-replay.ts';
import { type CrashableStore, crashableStore } from './crashable-store.ts';
import { answerPending, answerWait, type Desk, openDesk, raiseSome } from './people.ts';
import type { Intervention, Scenario } from './scenario.ts';
import { createGates, type Gates, scenarioTools } from './scenario-tools.ts';
import { scriptedModels } from './scripted-models.ts';
import { createWorld, isTimed, see, type World } from './world.ts';

/** A run from its start or resume to its end, suspension or crash. */
export interface Life {
  readonly number: number;
  readonly run: Run;
  readonly gates: Gates;
  readonly stop: AbortController;
  readonly shut: () => void;
  readonly desk: Desk;
  /** What its end calls for. */
  wants: 'nothing' | 'rebirth' | 'suspension';
}

interface Stage {
  readonly world: World;
  readonly store: CrashableStore;
  readonly models: ReturnType<typeof scriptedModels>;
  interventions: readonly Intervention[];
  life: Life | null;
  lifeNumber: number;
  eventCount: number;
}

/** Event-loop turns after which a run that neither ends nor waits counts as hanging. */
const mostTurns = 3_000;
const runId = 'proven';

export async function play(scenario: Scenario): Promise<World> {
  const world = createWorld(scenario);
  const stage: Stage = {
    world,
    store: crashableStore(),
    models: scriptedModels(world, () => stage.lifeNumber),
    interventions: scenario.interventions,
    life: null,
    lifeNumber: 0,
    eventCount: 0,
  };
  await begin(stage, (agent, signal) =>
    agent.start('Do it, please. 日本語 too.', { runId, history: scenario.history, signal }),
  );
  await live(stage);
  if (world.result) {
    await checkReplay(world, stage.store.door().store, runId);
    await followUp(stage);
  }
  return world;
}

/** Starts a life: an agent of its own, as a new process has, over the store that all share. */
async function begin(
  stage: Stage,
  open: (agent: Agent, signal: AbortSignal) => Run | Promise<Run>,
): Promise<void> {
  const { world } = stage;
  const { store, shut } = stage.store.door();
  const gates = createGates();
  const stop = new AbortController();
  const number = world.events.length;
  stage.lifeNumber = number;
  const events: RunEvent[] = [];
  world.events.push(events);
  stage.life = null;
  const agent = createAgent({
    ...agentOptions(world, stage, number, gates),
    store,
    onEvent(event) {
      if (world.ends[number] !== undefined) return;
      events.push(event);
      see(world, event.type);
      noticeEvent(stage, event.type);
    },
  });
  const run = await open(agent, stop.signal);
  const desk = openDesk();
  const life: Life = { number, run, gates, stop, shut, desk, wants: 'nothing' };
  stage.life = life;
  run.result.then((result) => {
    if (world.ends[number] !== undefined) return;
    world.ends[number] = 'ended';
    world.result = result;
    world.finalMessages = result.messages;
  });
}

function agentOptions(world: World, stage: Stage, life: number, gates: Gates) {
  const { scenario } = world;
  const description = scenario.changesTools && life > 0 ? 2 : 1;
  const [model, ...fallbackModels] = stage.models;
  return {
    model,
    fallbackModels,
    system: 'You are being watched.',
    tools: scenarioTools({ world, life, gates, description }),
    permissions: permissionsOf(scenario),
    budget: { ...scenario.budget, ...deadlineOf(world) },
    onLimit: scenario.onLimit,
    onTruncated: scenario.onTruncated,
    retry: { maxRetries: scenario.maxRetries, baseMs: 0, maxMs: 0 },
    toolConcurrency: scenario.toolConcurrency,
    streams: scenario.streams,
    ...compactionOf(world),
  };
}

const deadlineOf = ({ limits: { deadlineAt } }: World) =>
  deadlineAt !== undefined && { deadlineAt };

function permissionsOf({ permissions, tools }: Scenario) {
  switch (permissions) {
    case 'allow':
      return { otherwise: 'allow' } as const;
    case 'ask':
      return { otherwise: 'ask' } as const;
    case 'denyFirst':
      return tools.length > 0 ? { deny: ['tool_0'], otherwise: 'allow' as const } : {};
    case 'throwing':
      return { allow: [{ tool: '*', when: () => Promise.reject(new Error('No policy')) }] };
    default:
      return {};
  }
}

function compactionOf(world: World) {
  const { compaction } = world.scenario;
  if (compaction === 'never') return {};
  const compact = async ({ messages }: { messages: readonly Message[] }) => {
    see(world, `compaction ${compaction}`);
    if (compaction === 'throwing') throw new Error('No summary');
    if (compaction === 'invalid') return [];
    if (compaction === 'same') return messages;
    return [{ role: 'user', content: [{ type: 'text', text: 'So far: much.' }] }] as const;
  };
  return { compaction: { atTokens: 2_500, compact } };
}

function noticeEvent(stage: Stage, type: RunEvent['type']): void {
  stage.eventCount += 1;
  const isDue = ({ at }: Intervention) => at === type || at === stage.eventCount;
  const due = stage.interventions.filter(isDue);
  stage.interventions = stage.interventions.filter((intervention) => !due.includes(intervention));
  for (const { kind, isAtOnce } of due) {
    if (isAtOnce) intervene(stage, kind);
    else queueMicrotask(() => intervene(stage, kind));
  }
}

function intervene(stage: Stage, kind: Intervention['kind']): void {
  const { life, world } = stage;
  if (!life || world.ends[life.number] !== undefined || life.wants !== 'nothing') return;
  see(world, `intervention ${kind}`);
  if (kind === 'cancel' || kind === 'abort') world.cancelledLife = life.number;
  const { run, stop } = life;
  const acts: Readonly<Record<Intervention['kind'], () => void>> = {
    cancel: () => run.cancel('Somebody stopped it.'),
    abort: () => stop.abort(new Error('The caller left.')),
    pause: () => orFinished(() => run.pause()),
    steer: () => orFinished(() => run.steer('And be quick — schnell, bitte.')),
    raise: () => orFinished(() => raiseSome(world, run)),
    suspend: () => {
      life.wants = 'suspension';
    },
    crash: () => crash(stage, life),
  };
  acts[kind]();
}

/** From here on nothing of this life is saved, so nothing new may begin in it. */
function crash({ world }: Stage, life: Life): void {
  life.shut();
  life.wants = 'rebirth';
  world.ends[life.number] = 'crashed';
}

function orFinished(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!PawlError.is(error) || error.code !== 'run_finished') throw error;
  }
}

async function live(stage: Stage): Promise<void> {
  const { world } = stage;
  for (let turns = 0; turns < mostTurns; turns += 1) {
    await (turns % 3 === 2 ? sleep(1) : turn());
    const { life } = stage;
    if (!life) throw new Error('A run that nobody began.');
    if (life.wants !== 'nothing') await goOn(stage, life);
    else if (world.ends[life.number] !== undefined) return;
    else await look(stage, life, turns);
    if (world.result) return;
  }
  const state = stage.life?.run.state ?? 'nowhere';
  world.problems.push(`hang: the run is still in ${state} after ${mostTurns} turns`);
  stage.life?.run.cancel('It hangs.');
}

async function look(stage: Stage, life: Life, turns: number): Promise<void> {
  const { world } = stage;
  if (turns % 4 === 3) life.gates.open();
  checkRest(world, life);
  answerPending(world, life.run, life.desk);
  answerWait(world, life.run, life.desk);
  const asked = world.attempts.at(-1);
  if (asked?.outcome !== 'open' || asked.life !== life.number) life.desk.hangingTurns = 0;
  else life.desk.hangingTurns += 1;
  // A limit on time may still end it by itself.
  if (life.desk.hangingTurns < (isTimed(world) ? 60 : 12)) return;
  intervene(stage, world.scenario.onHang);
  life.desk.hangingTurns = 0;
}

/** Where a run rests, nothing of it is at work. */
function checkRest(world: World, { run: { state }, number }: Life): void {
  if (state !== 'awaitBudget' && state !== 'paused') return;
  const isAtWork = world.bodies.some(
    (body) => body.life === number && body.state === 'running' && !body.signal.aborted,
  );
  const problem = `stray: a tool is at work while the run is in ${state}`;
  if (isAtWork && !world.problems.includes(problem)) world.problems.push(problem);
}

/** After a crash or a suspension: a new process takes the run up. */
async function goOn(stage: Stage, life: Life): Promise<void> {
  const { world } = stage;
  if (life.wants === 'suspension') {
    const snapshot = JSON.parse(JSON.stringify(await life.run.suspend()));
    await turn();
    if (world.result && world.result.status !== 'suspended') return;
    world.ends[life.number] = 'suspended';
    world.result = null;
    await rebirth(stage, (agent, signal) => agent.resume(snapshot, { signal }));
    return;
  }
  // The process is gone, and what it had begun with it.
  life.run.cancel('The process died.');
  await turn();
  const saved = await stage.store.door().store.load(runId);
  if (saved) await rebirth(stage, (agent, signal) => agent.resume(runId, { signal }));
  else {
    if (world.attempts.length > 0) world.problems.push('saving: a model was asked before any save');
    await rebirth(stage, (agent, signal) =>
      agent.start('Do it, please.', { runId, history: world.scenario.history, signal }),
    );
  }
}

async function rebirth(stage: Stage, open: Parameters<typeof begin>[1]): Promise<void> {
  see(stage.world, 'resume');
  await begin(stage, open);
}

/** A history is only good when a run can go on from it. */
async function followUp(stage: Stage): Promise<void> {
  const { world } = stage;
  const { limits } = world;
  const asked = world.attempts.length;
  world.limits = {};
  const scenario = { ...world.scenario, script: [] };
  const after = { ...world, scenario, seen: new Map() };
  const [model] = scriptedModels(after, () => -1);
  const tools = scenarioTools({ world: after, life: -1, gates: createGates(), description: 1 });
  const agent = createAgent({ model, tools });
  const { result } = agent.start('And now?', { history: world.finalMessages });
  const { status, reason } = await result;
  const isCutShort = status === 'exhausted' && reason.includes('maxReplyTokens');
  if (status !== 'completed' && !isCutShort) {
    world.problems.push(`follow-up: it ended as ${status}: ${reason}`);
  }
  world.attempts.length = asked;
  world.limits = limits;
}
