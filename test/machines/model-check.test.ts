/** Visits every state that the machines can reach in a number of configurations, and checks in each what must hold. */
import { describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot, AnyStateMachine, SnapshotFrom } from 'xstate';
import { deadEnds, type Exploration, explore, transitionsOf } from './explore.ts';
import { agentLoopModel } from './models/agent-loop.ts';
import type { Configuration, Invariants, Model, StepInvariants } from './models/model.ts';
import { modelCallModel } from './models/model-call.ts';
import { toolCallModel } from './models/tool-call.ts';

/** Explores each configuration once, however many tests look. */
function explorer<Machine extends AnyStateMachine>(machine: Machine) {
  const done = new Map<string, Exploration<Machine>>();
  return ({ name, input, events }: Configuration<Machine>): Exploration<Machine> => {
    const known = done.get(name);
    if (known) return known;
    const found = explore(machine, input, events);
    done.set(name, found);
    const { states, edges } = found;
    console.log(`${machine.id}, ${name}: ${states.length} states, ${edges.length} edges`);
    return found;
  };
}

/** Which invariant fails, and where: at most three places each. */
function broken<Machine extends AnyStateMachine>(
  { states }: Exploration<Machine>,
  invariants: Invariants<Machine>,
): readonly string[] {
  return Object.entries(invariants).flatMap(([name, holds]) =>
    states
      .filter((snapshot) => !holds(snapshot))
      .slice(0, 3)
      .map((snapshot) => `${name}: ${show(snapshot)}`),
  );
}

function brokenSteps<Machine extends AnyStateMachine>(
  { states, edges }: Exploration<Machine>,
  invariants: StepInvariants<Machine>,
): readonly string[] {
  const steps = edges.map(({ from, event, next }) => ({
    from: states[from] as SnapshotFrom<Machine>,
    event,
    to: next,
  }));
  return Object.entries(invariants).flatMap(([name, holds]) =>
    steps
      .filter((step) => !holds(step))
      .slice(0, 3)
      .map(({ from, event, to }) => `${name}: ${show(from)} ${JSON.stringify(event)} ${show(to)}`),
  );
}

function show({ status, value, context }: AnyMachineSnapshot): string {
  return JSON.stringify({ status, value, ...context, settings: undefined }).slice(0, 2_000);
}

function checkModel<Machine extends AnyStateMachine>(model: Model<Machine>): void {
  const { machine, configurations, invariants, stepInvariants } = model;
  const exploreOnce = explorer(machine);

  describe.each(configurations.map((one) => [one.name, one] as const))('%s', (_name, one) => {
    it('keeps all invariants in every state', () => {
      const found = exploreOnce(one);
      expect(broken(found, invariants)).toEqual([]);
      expect(found.states.length).toBeGreaterThanOrEqual(one.floor);
    }, 60_000);

    it('keeps all invariants in every step', () => {
      expect(brokenSteps(exploreOnce(one), stepInvariants)).toEqual([]);
    }, 60_000);

    it('can come to an end from every state', () => {
      const found = exploreOnce(one);
      const stuck = deadEnds(found).map((index) => show(found.states[index] as AnyMachineSnapshot));
      expect(stuck).toEqual([]);
    }, 60_000);
  });

  it('takes every transition of its chart in some configuration', () => {
    const taken = new Set(configurations.flatMap((one) => [...exploreOnce(one).taken]));
    const never = [...transitionsOf(machine)].filter(([one]) => !taken.has(one));
    expect(never.map(([, name]) => name)).toEqual([]);
  }, 60_000);
}

describe('agent-loop', () => checkModel(agentLoopModel));
describe('tool-call', () => checkModel(toolCallModel));
describe('model-call', () => checkModel(modelCallModel));
