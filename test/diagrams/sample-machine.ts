import { createMachine } from 'xstate';

/** One of everything that a chart can hold. */
export const sampleMachine = createMachine({
  id: 'sample',
  description: 'A machine with one of everything.',
  initial: 'load',
  on: { '*': { actions: 'noteUnknown' }, reset: '.load' },
  states: {
    load: {
      description: 'Fetches <what> is "needed".',
      tags: 'busy',
      entry: ['startTimer', { type: 'log', params: { level: 1 } }],
      exit: 'stopTimer',
      invoke: {
        id: 'fetcher',
        src: 'fetchPage',
        onDone: [
          { guard: 'isEmpty', target: 'failed', actions: 'noteEmpty' },
          { guard: { type: 'isStale' }, target: 'load', reenter: true },
          { target: 'work' },
        ],
        onError: 'failed',
      },
      after: { 1000: 'failed', patience: { actions: 'warn' } },
    },
    work: {
      type: 'parallel',
      onDone: 'route',
      on: { 'work.stopped': 'failed' },
      states: {
        left: {
          initial: 'ask',
          states: {
            ask: { tags: ['waitsForHuman', 'slow'], on: { 'answer.given': 'answered' } },
            answered: { type: 'final' },
            back: { type: 'history', history: 'deep' },
          },
        },
        right: {
          initial: 'count',
          states: {
            count: { invoke: { src: 'counter', onDone: 'counted', onError: '#sample.failed' } },
            counted: { type: 'final' },
          },
        },
      },
    },
    route: {
      always: [
        { guard: 'isLarge', target: 'work' },
        { guard: 'isSmall', target: 'load', actions: ['shrink'] },
        { target: 'finished' },
      ],
    },
    finished: { type: 'final' },
    failed: { type: 'final' },
  },
});
