/** The tools of a scenario. Their bodies note that they began, with what, and how they ended. */
import { defineTool, type ProbeAnswer, type Tool, type ToolContext, toolOutput } from 'pawl';
import { z } from 'zod';
import type { Behaviour, ProbePlan, ToolPlan } from './scenario.ts';
import { type Body, see, tick, type World } from './world.ts';

const inputSchema = z.object({ n: z.int(), pad: z.string().optional() });

/** Lets go on what works until it is let go. */
export interface Gates {
  readonly open: () => void;
  readonly wait: () => Promise<void>;
}

export function createGates(): Gates {
  let waiting: (() => void)[] = [];
  return {
    open() {
      const released = waiting;
      waiting = [];
      for (const release of released) release();
    },
    wait: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
      }),
  };
}

export interface Workshop {
  readonly world: World;
  readonly life: number;
  readonly gates: Gates;
  /** Which of two descriptions of the tools is shown: equally long, or a request would grow. */
  readonly description: number;
}

export const scenarioTools = (workshop: Workshop): readonly Tool[] =>
  workshop.world.scenario.tools.map((plan, index) => scenarioTool(workshop, plan, index));

function scenarioTool(workshop: Workshop, plan: ToolPlan, index: number): Tool {
  return defineTool({
    name: `tool_${index}`,
    description: `Does something, version ${workshop.description}.`,
    input: inputSchema,
    effect: plan.effect,
    maxRetries: plan.maxRetries,
    timeoutMs: plan.timeoutMs,
    maxCostUsd: plan.maxCostMicros / 1_000_000,
    repeatable: plan.isRepeatable,
    ...(plan.effect === 'once' && {
      onInterrupted: plan.onInterrupted,
      ...(plan.probe !== null && { probe: probeFor(workshop.world, plan.probe) }),
    }),
    ...(plan.maxCalls !== null && { maxCalls: plan.maxCalls }),
    ...(plan.concurrency !== null && { concurrency: plan.concurrency }),
    run(input, context) {
      const body = begin(workshop, index, input, context);
      const behaviour = behaviourOf(workshop.world, plan, index);
      see(workshop.world, `tool ${behaviour}`);
      if (behaviour === 'throwAtOnce') {
        body.state = 'threw';
        throw new RangeError('At once');
      }
      return act(workshop, body, behaviour);
    },
  });
}

function begin({ world, life }: Workshop, tool: number, input: object, context: ToolContext): Body {
  const body: Body = {
    life,
    tool,
    callId: context.callId,
    key: context.idempotencyKey,
    attempt: context.attempt,
    input: JSON.stringify(input),
    at: tick(world),
    signal: context.signal,
    state: 'running',
    costMicros: spendFor(world, tool, context.callId),
  };
  world.bodies.push(body);
  if (world.cancelledLife === life) world.problems.push(`cancel: ${body.callId} began after it`);
  checkCrowd(world, tool, life);
  return body;
}

/** Looks at what really happened: a call happened when its body began. */
const probeFor =
  (world: World, plan: ProbePlan) =>
  async (key: string): Promise<ProbeAnswer> => {
    see(world, `probe ${plan}`);
    if (plan === 'throw') throw new Error('The other side is down');
    if (plan === 'neverSettle') return new Promise(() => {});
    if (plan === 'unknown') return { happened: 'unknown' };
    const happened = world.bodies.some((body) => body.key === key);
    see(world, happened ? 'probe found the call' : 'probe found nothing');
    return happened ? { happened, result: `Found, ${key}.` } : { happened };
  };

/** Spent as soon as it begins, whatever comes of it. All attempts of a call together keep to its most. */
function spendFor({ scenario, bodies }: World, tool: number, callId: string): number {
  const { maxCostMicros = 0, costPercent = 0 } = scenario.tools[tool] ?? {};
  const before = bodies
    .filter((body) => body.callId === callId)
    .reduce((sum, { costMicros }) => sum + costMicros, 0);
  return Math.min(Math.floor((maxCostMicros * costPercent) / 100), maxCostMicros - before);
}

const isAtWork = ({ state, signal }: Body): boolean => state === 'running' && !signal.aborted;

function checkCrowd(world: World, tool: number, life: number): void {
  const working = world.bodies.filter((body) => body.life === life && isAtWork(body));
  const ofTool = working.filter((body) => body.tool === tool).length;
  const most = world.scenario.tools[tool]?.concurrency ?? Number.POSITIVE_INFINITY;
  if (working.length > 1) see(world, 'bodies at the same time');
  if (working.length > world.scenario.toolConcurrency || ofTool > most) {
    world.problems.push(`tools: ${working.length} bodies at once, ${ofTool} of tool_${tool}`);
  }
}

function behaviourOf(world: World, { behaviours }: ToolPlan, tool: number): Behaviour {
  const begun = world.bodies.filter((body) => body.tool === tool).length;
  return behaviours[Math.min(begun, behaviours.length) - 1] ?? 'return';
}

async function act(workshop: Workshop, body: Body, behaviour: Behaviour): Promise<unknown> {
  try {
    await work(workshop, body, behaviour);
    body.state = body.signal.aborted ? 'late' : 'returned';
    const content = behaviour === 'returnMuch' ? 'Ünd mehr. '.repeat(100) : `Done, ${body.callId}.`;
    const costUsd = body.costMicros / 1_000_000;
    return toolOutput({ content, costUsd, isError: behaviour === 'returnError' });
  } catch (error) {
    body.state = 'threw';
    throw error;
  }
}

async function work({ gates }: Workshop, { signal }: Body, behaviour: Behaviour): Promise<void> {
  switch (behaviour) {
    case 'throw':
      throw 'a text, not an error';
    case 'hang':
      return aborted(signal);
    case 'neverSettle':
      return new Promise(() => {});
    case 'slow':
      return gates.wait();
    default:
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
