import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

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
    commands: { run: call('run'), chat: call('chat'), diagram: call('diagram') },
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

const defaults = { model: 'claude-sonnet-5-5', stream: true };

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
    ['an unknown machine', ['diagram', 'sewing']],
    ['an unknown format', ['diagram', '--format', 'gif']],
  ])('is refused with %s', async (_name, args) => {
    const { calls, error, err } = await parsed(...args);
    expect(error).toBeInstanceOf(CommanderError);
    expect((error as CommanderError).exitCode).not.toBe(0);
    expect(err).not.toBe('');
    expect(calls).toEqual([]);
  });

  it.each([[[]], [['run']], [['chat']], [['diagram']]])(
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
