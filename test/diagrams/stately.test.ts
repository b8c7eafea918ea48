import { describe, expect, it } from 'vitest';
import { assign, createMachine, fromPromise } from 'xstate';
import { toStatelyJson } from '../../src/diagrams/stately.ts';
import { sampleMachine } from './sample-machine.ts';

describe('toStatelyJson', () => {
  it('is the whole config when the config is data', () => {
    expect(JSON.parse(toStatelyJson(sampleMachine))).toEqual(sampleMachine.config);
  });

  it('can be made into a machine again, with the same JSON', () => {
    const again = createMachine(JSON.parse(toStatelyJson(sampleMachine)));
    expect(toStatelyJson(again)).toBe(toStatelyJson(sampleMachine));
  });

  it('writes code as an object with its name', () => {
    const startRun = () => ({});
    const machine = createMachine({
      context: startRun,
      entry: assign({}),
      invoke: { src: fromPromise(async () => 1) },
    });
    expect(JSON.parse(toStatelyJson(machine))).toEqual({
      context: { type: 'startRun' },
      entry: { type: 'assign' },
      invoke: { src: { type: 'inline actor' } },
    });
  });
});
