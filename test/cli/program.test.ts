import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { type Commands, createProgram } from '../../src/cli/program.ts';

const names = [
  ...[
    'run',
    'chat',
    'runs',
    'show',
    'why',
    'replay',
    'resume',
    'fork',
    'approve',
    'deny',
    'settle',
  ],
  ...['steer', 'cancel', 'rehearse', 'prune', 'delete', 'diagram'],
];

/** What a command line comes to: the command that it calls with its arguments, or an error. */
async function parsed(...args: readonly string[]) {
  const calls: unknown[] = [];
  const output = { out: '', err: '' };
  const codes: number[] = [];
  const call =
    (name: string) =>
    async (...given: readonly unknown[]) => {
      calls.push([name, ...given]);
      return 3;
    };
  const program = createProgram({
    version: '1.2.3',
    commands: Object.fromEntries(names.map((name) => [name, call(name)])) as unknown as Commands,
    onCode: (code) => codes.push(code),
  });
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      writeOut: (text) => {
        output.out += text;
      },
      writeErr: (text) => {
        output.err += text;
      },
    });
  }
  const error = await program
    .parseAsync(args, { from: 'user' })
    .then(() => null)
    .catch((thrown: unknown) => thrown);
  return { calls, codes, error, ...output };
}

const store = '.pawl/runs.db';
const defaults = { model: 'claude-sonnet-5-5', stream: true, store };

describe('the command line', () => {
  it.each([
    [['run'], ['run', undefined, defaults]],
    [
      ['run', 'hi'],
      ['run', 'hi', defaults],
    ],
    [
      ['run', '-'],
      ['run', '-', defaults],
    ],
    [['chat'], ['chat', defaults]],
    [
      ['run', '--tools', 't.mjs'],
      ['run', undefined, { ...defaults, tools: 't.mjs' }],
    ],
    [
      ['run', '--no-stream'],
      ['run', undefined, { ...defaults, stream: false }],
    ],
    [
      ['chat', '--json', '--yes'],
      ['chat', { ...defaults, json: true, yes: true }],
    ],
    [
      ['chat', '--ask'],
      ['chat', { ...defaults, ask: true }],
    ],
    [
      [
        'run',
        '--max-turns',
        '3',
        '--max-cost',
        '0.5',
        '--max-tokens',
        '10_000',
        '--max-time',
        '90s',
      ],
      [
        'run',
        undefined,
        { ...defaults, maxTurns: 3, maxCost: 0.5, maxTokens: 10_000, maxTime: 90_000 },
      ],
    ],
    [
      ['run', '--on-limit', 'wrapUp'],
      ['run', undefined, { ...defaults, onLimit: 'wrapUp' }],
    ],
    [
      ['run', '--tag', 'mail', 'urgent', '--store', 'x.db'],
      ['run', undefined, { ...defaults, tag: ['mail', 'urgent'], store: 'x.db' }],
    ],
    [['runs'], ['runs', { store, limit: 20 }]],
    [
      ['runs', '--status', 'waiting', 'failed', '--tag', 'mail', '--limit', '5', '--json'],
      ['runs', { store, status: ['waiting', 'failed'], tag: 'mail', limit: 5, json: true }],
    ],
    [
      ['show', '3f2a', '--at', '4'],
      ['show', '3f2a', { store, at: 4 }],
    ],
    [
      ['why', '3f2a', '--at', '2'],
      ['why', '3f2a', { store, at: 2 }],
    ],
    [
      ['replay', '3f2a', '--json'],
      ['replay', '3f2a', { store, json: true }],
    ],
    [
      ['resume', '3f2a', '--max-turns', '20', '--retry'],
      ['resume', '3f2a', { store, stream: true, maxTurns: 20, retry: true }],
    ],
    [
      ['fork', '3f2a', '--at', '2', '--model', 'other'],
      ['fork', '3f2a', { store, stream: true, at: 2, model: 'other' }],
    ],
    [
      ['approve', '3f2a'],
      ['approve', '3f2a', undefined, { store }],
    ],
    [
      ['approve', '3f2a', 'toolu_1', '--input', '{"a":1}'],
      ['approve', '3f2a', 'toolu_1', { store, input: '{"a":1}' }],
    ],
    [
      ['deny', '3f2a', '--reason', 'no'],
      ['deny', '3f2a', undefined, { store, reason: 'no' }],
    ],
    [
      ['settle', '3f2a', '--result', 'sent', '--error'],
      ['settle', '3f2a', undefined, { store, result: 'sent', error: true }],
    ],
    [
      ['settle', '3f2a', '--retry'],
      ['settle', '3f2a', undefined, { store, retry: true }],
    ],
    [
      ['steer', '3f2a', 'Be brief.'],
      ['steer', '3f2a', 'Be brief.', { store }],
    ],
    [
      ['cancel', '3f2a', '--reason', 'late'],
      ['cancel', '3f2a', { store, reason: 'late' }],
    ],
    [
      ['rehearse', '--tools', 't.mjs'],
      ['rehearse', { store, tools: 't.mjs' }],
    ],
    [['prune'], ['prune', { store, olderThan: 30 * 86_400_000, keepTurns: 1 }]],
    [
      ['prune', '--older-than', '7d', '--keep-turns', '0'],
      ['prune', { store, olderThan: 7 * 86_400_000, keepTurns: 0 }],
    ],
    [
      ['delete', '3f2a'],
      ['delete', '3f2a', { store }],
    ],
    [['diagram'], ['diagram', 'agent-loop', 'mermaid']],
    [
      ['diagram', 'tool-call', '--format', 'svg'],
      ['diagram', 'tool-call', 'svg'],
    ],
  ])('%j', async (args, [name, ...given]) => {
    const { calls, codes, error } = await parsed(...args);
    expect(error).toBeNull();
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject([name, ...given]);
    expect(codes).toEqual([3]);
  });

  it.each([
    ['no command', []],
    ['an unknown command', ['rum']],
    ['an unknown option', ['run', '--max-turn', '3']],
    ['a word too many', ['run', 'two', 'words']],
    ['no number', ['run', '--max-turns', 'three']],
    ['a negative number', ['run', '--max-turns=-1']],
    ['no time', ['run', '--max-time', 'soon']],
    ['no money', ['run', '--max-cost', '1e9']],
    ['no such policy', ['run', '--on-limit', 'panic']],
    ['yes and ask', ['run', '--yes', '--ask']],
    ['a run that is not named', ['show']],
    ['no turn to fork at', ['fork', '3f2a']],
    ['turn 0', ['fork', '3f2a', '--at', '0']],
    ['no such status', ['runs', '--status', 'asleep']],
    ['no run to list', ['runs', '--limit', '0']],
    ['a result and a retry', ['settle', '3f2a', '--result', 'x', '--retry']],
    ['no age', ['prune', '--older-than', 'long']],
    ['an unknown machine', ['diagram', 'sewing']],
    ['an unknown format', ['diagram', '--format', 'gif']],
  ])('is refused with %s', async (_name, args) => {
    const { calls, error, err } = await parsed(...args);
    expect(error).toBeInstanceOf(CommanderError);
    expect((error as CommanderError).exitCode).not.toBe(0);
    expect(err).not.toBe('');
    expect(calls).toEqual([]);
  });

  it.each([[[]], ...names.map((name) => [[name]])])(
    'has help with examples at its end: %j',
    async (command) => {
      const { error, out } = await parsed(...command, '--help');
      expect(out).toMatch(/^Usage: pawl/);
      expect(out.trimEnd().split('\n\n').at(-1)).toMatch(/^Examples:\n {2}/);
      expect(error).toMatchObject({ exitCode: 0 });
    },
  );

  it('has a version', async () => {
    const { error, out } = await parsed('--version');
    expect(out).toBe('1.2.3\n');
    expect(error).toMatchObject({ exitCode: 0 });
  });
});
