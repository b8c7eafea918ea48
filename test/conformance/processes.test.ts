/** Cases whose process is killed, in the words that the corpus allows and hardly uses. */
import { afterAll, describe, expect, it } from 'vitest';
import type { Birth } from './engine.ts';
import type { CaseTool } from './load-case.ts';
import { playCase } from './play.ts';
import { hostInProcess } from './process-host.ts';
import { programs } from './programs.ts';
import { sampleCase, sampleTool } from './sample-case.ts';

const start = { do: 'start', prompt: 'Go.' };
const settled = { do: 'wait', for: 'settled' };
const kill = { do: 'kill' };
const resume = { do: 'resume' };
const until = (what: string) => ({ do: 'wait', for: what });
const asked = until('awaiting_approval:toolu_1');
const approve = { do: 'approve', id: 'toolu_1' };
const deny = { do: 'deny', id: 'toolu_1', reason: 'Not today.' };
const snapshot = (as: string) => ({ do: 'snapshot', as });
const assert = (as: string) => ({ do: 'assert', as });
const race = (...then: readonly object[]) => ({ do: 'resume', workers: 2, ...{ then } });

const gated = sampleTool(undefined, { needsApproval: true, sideEffect: true, idempotent: false });
const once = (kind: string) =>
  sampleTool({ kind }, { needsApproval: false, sideEffect: true, idempotent: false });
/** Hangs at first, in whatever process that is. */
const again = sampleTool({
  kind: 'sequence',
  steps: [{ kind: 'hang' }, { kind: 'return', value: 'fine' }],
});

const say = (...content: readonly object[]) => ({
  message: { content, stop_reason: content.some(isUse) ? 'tool_use' : 'end_turn' },
});
const isUse = (block: object): boolean => 'id' in block;
const text = (words: string) => ({ type: 'text', text: words });
const use = (id: string, name = 'look') => ({ type: 'tool_use', id, name, input: { at: 1 } });
const events = (...rest: readonly object[]) => ({
  events: [
    {
      type: 'message_start',
      message: {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-test-1', content: [] },
        ...{ stop_reason: null, stop_sequence: null },
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
    ...rest,
  ],
});
/** Asked again after a kill, by whoever did not hear the answer. */
const endless = (response: object) => ({ ...response, repeat: 'forever', optional: true });
const callAndEnd = () => server(say(use('toolu_1')), endless(say(text('All fine.'))));
const failing = { status: 400, error: { type: 'invalid_request_error', message: 'no' } };
const server = (...responses: readonly object[]) => ({ responses });
const lastResult = (matcher: object) => ({
  requests: {
    at: { last: { messages: { $last: { role: 'user', content: [{ $subset: matcher }] } } } },
  },
});

interface Parts {
  readonly tools?: readonly CaseTool[];
  readonly server?: object;
  readonly config?: object;
  readonly actions: readonly object[];
  readonly expect?: object;
}

const caseOf = ({ expect: expectation, ...parts }: Parts) =>
  sampleCase({ ...parts, expect: { timeoutMs: 15_000, ...expectation } });

const ran = (count: number) => ({ toolExecutions: { toolu_1: count } });

const moments: readonly (readonly [string, Parts])[] = [
  [
    'right after the start',
    {
      server: server(endless(say(text('All fine.')))),
      actions: [start, kill, resume, settled],
      expect: { requests: { count: { min: 1, max: 2 } } },
    },
  ],
  [
    'while the first answer is awaited',
    {
      server: server({ ...say(text('late')), delayMs: 3_000 }, say(text('All fine.'))),
      actions: [start, until('request:1'), kill, resume, settled],
      expect: { requests: { count: 2, identical: [[1, 2]] } },
    },
  ],
  [
    'in a stream',
    {
      server: server(events({ $hang: true }), say(text('All fine.'))),
      actions: [start, until('sse:1:3'), kill, resume, settled],
      expect: { result: { text: { $exact: 'All fine.' } }, requests: { identical: [[1, 2]] } },
    },
  ],
  [
    'in a tool that may run again',
    {
      tools: [again],
      actions: [start, until('tool_started:toolu_1'), kill, resume, settled],
      expect: ran(2),
    },
  ],
  [
    'after a side effect, which a person settles',
    {
      tools: [once('sideEffectThenHang')],
      actions: [start, until('side_effect:toolu_1'), kill, resume, asked, deny, settled],
      expect: {
        ...ran(1),
        ...lastResult({ is_error: true, content: { $contains: 'Not today.' } }),
      },
    },
  ],
  [
    'in a tool that a person lets run again',
    {
      tools: [{ ...again, sideEffect: true, idempotent: false }],
      actions: [start, until('tool_started:toolu_1'), kill, resume, asked, approve, settled],
      expect: ran(2),
    },
  ],
  [
    'when a tool has returned',
    {
      server: callAndEnd(),
      actions: [start, until('tool_returned:toolu_1'), kill, resume, settled],
      expect: { toolExecutions: { toolu_1: { min: 1, max: 2 } } },
    },
  ],
  [
    'right after an approval',
    {
      tools: [gated],
      server: callAndEnd(),
      actions: [start, asked, approve, kill, resume, until('quiet')],
      expect: {
        status: ['completed', 'awaiting_approval'],
        toolExecutions: { toolu_1: { min: 0, max: 1 } },
      },
    },
  ],
  [
    'when all has ended, and the user goes on',
    {
      server: server(say(text('One.')), say(text('Two.'))),
      actions: [start, settled, kill, { do: 'send', text: 'And?' }, settled],
      expect: { requests: { count: 2, at: { 2: { messages: { $len: 3 } } } } },
    },
  ],
  [
    'twice',
    {
      tools: [gated],
      actions: [start, asked, kill, resume, asked, kill, resume, approve, settled],
      expect: { ...ran(1), requests: { count: 2 } },
    },
  ],
  [
    'and never resumed',
    {
      tools: [gated],
      server: server(say(use('toolu_1'))),
      actions: [start, asked, kill, assert('dead')],
      expect: {
        ...{ status: 'awaiting_approval', pending: ['toolu_1'], toolExecutions: {} },
        checkpoints: { dead: { status: 'awaiting_approval' } },
      },
    },
  ],
  [
    'after its end, and looked at',
    { actions: [start, settled, kill], expect: { result: { text: 'All fine.' }, ...ran(1) } },
  ],
];

const meanwhile: readonly (readonly [string, Parts])[] = [
  ['an approval', { tools: [gated], actions: [start, asked, kill, approve, resume, settled] }],
  [
    'a denial',
    {
      tools: [gated],
      actions: [start, asked, kill, deny, resume, settled],
      expect: { ...lastResult({ is_error: true }), toolExecutions: {} },
    },
  ],
  [
    'a word of the user',
    {
      tools: [gated],
      actions: [start, asked, kill, { do: 'steer', text: 'Hurry.' }, resume, approve, settled],
      expect: { requests: { at: { last: { $contains: 'Hurry.' } } } },
    },
  ],
  [
    'a notice',
    {
      tools: [gated],
      server: server(say(use('toolu_1')), say(text('Fine.')), say(text('Heard.'))),
      actions: [
        ...[start, asked, kill, { do: 'notify', text: 'It rains.' }, resume, approve, settled],
        ...[{ do: 'send', text: 'And?' }, settled],
      ],
      expect: { requests: { at: { last: { $contains: 'It rains.' } } } },
    },
  ],
  [
    'an abort',
    {
      tools: [gated],
      server: server(say(use('toolu_1'))),
      actions: [start, asked, kill, { do: 'abort' }, resume, settled],
      expect: { status: 'aborted', toolExecutions: {} },
    },
  ],
  [
    'a snapshot',
    {
      tools: [gated],
      actions: [
        ...[start, asked, snapshot('a'), kill, snapshot('b')],
        ...[{ do: 'resume', from: 'b' }, snapshot('c'), approve, settled],
      ],
      expect: { artifacts: { snapshotsEqual: ['a=b', 'a=c', 'b=c'] } },
    },
  ],
];

const resumes: readonly (readonly [string, Parts])[] = [
  [
    'with other tools',
    {
      tools: [gated],
      actions: [
        ...[start, asked, kill],
        { ...resume, tools: [sampleTool(undefined, { name: 'see' })], mayFail: true },
        ...[{ ...approve, mayFail: true }, until('quiet')],
      ],
      expect: {
        ...{ status: ['failed', 'rejected', 'completed'], toolExecutions: {} },
        waive: ['all_used'],
      },
    },
  ],
  [
    'with a tool that does something else',
    {
      tools: [gated],
      actions: [
        ...[start, asked, kill],
        { ...resume, toolOverrides: { look: { behaviour: { kind: 'return', value: 'new' } } } },
        ...[approve, settled],
      ],
      expect: lastResult({ content: { $contains: 'new' } }),
    },
  ],
  [
    'with a list of such tools',
    {
      tools: [gated],
      actions: [
        ...[start, asked, kill],
        { ...resume, toolOverrides: [{ name: 'look', behaviour: { kind: 'throw' } }] },
        ...[approve, settled],
      ],
      expect: lastResult({ is_error: true }),
    },
  ],
  ...(['setVersion', 'truncate', 'replace'] as const).map((op) => {
    const mutate = {
      op,
      ...{ setVersion: { value: 99 }, truncate: { keep: 0.5 }, replace: { value: 'null' } }[op],
    };
    return [
      `from a damaged store: ${op}`,
      {
        tools: [gated],
        server: server(say(use('toolu_1'))),
        actions: [start, asked, kill, { ...resume, mutate, mayFail: true }, until('quiet')],
        expect: {
          ...{ status: 'rejected', error: { code: 'snapshot_incompatible' }, toolExecutions: {} },
          artifacts: { actionErrors: [{ do: 'resume', code: 'snapshot_incompatible' }] },
        },
      },
    ] as const;
  }),
  [
    'to retry what failed',
    {
      tools: [once('echo')],
      server: server(say(use('toolu_1')), failing, say(text('All fine.'))),
      actions: [start, settled, assert('failed'), kill, { ...resume, retryFailed: true }, settled],
      expect: {
        ...{ ...ran(1), requests: { count: 3, identical: [[2, 3]] } },
        checkpoints: { failed: { status: 'failed' } },
      },
    },
  ],
  [
    'to retry what failed, from a snapshot',
    {
      server: server(failing, say(text('All fine.'))),
      actions: [
        ...[start, settled, snapshot('s')],
        ...[{ do: 'resume', from: 's', retryFailed: true }, settled],
      ],
      expect: { requests: { identical: [[1, 2]] } },
    },
  ],
  [
    'while its process is still at work',
    {
      tools: [sampleTool({ kind: 'hangUntilAbort' })],
      server: server(say(use('toolu_1'))),
      actions: [start, until('tool_started:toolu_1'), { ...resume, mayFail: true }],
      expect: { status: 'rejected', error: { code: 'run_locked' }, ...ran(1) },
    },
  ],
  [
    'without a kill, when it waits',
    { tools: [gated], actions: [start, asked, resume, asked, approve, settled], expect: ran(1) },
  ],
];

const someRefusal = {
  workerErrors: { $some: { code: { $oneOf: ['run_locked', 'stale_snapshot', 'run_finished'] } } },
};

const workers: readonly (readonly [string, Parts])[] = [
  [
    'deny',
    {
      tools: [gated],
      actions: [start, asked, kill, race(deny, settled), settled],
      expect: { toolExecutions: {}, artifacts: someRefusal },
    },
  ],
  [
    'wait, look and decide from a snapshot',
    {
      tools: [{ ...gated, behaviour: { kind: 'echo' } }],
      actions: [
        ...[start, asked, snapshot('s'), kill],
        ...[{ ...race(asked, assert('seen'), approve), from: 's', workers: 3 }, settled],
      ],
      expect: {
        ...{ ...ran(1), artifacts: { workerErrors: { $len: 2 } } },
        checkpoints: { seen: { toolExecutions: {} } },
      },
    },
  ],
  [
    'are killed, and others go on',
    {
      tools: [again],
      server: callAndEnd(),
      actions: [...[start, until('tool_started:toolu_1'), kill, race(kill), resume, settled]],
      expect: { toolExecutions: { toolu_1: { min: 1, max: 3 } } },
    },
  ],
];

const planted: readonly (readonly [string, Parts, string])[] = [
  [
    'a call that ran in two processes',
    {
      tools: [again],
      actions: [start, until('tool_started:toolu_1'), kill, resume, settled],
      expect: ran(1),
    },
    'tool toolu_1 executed 2x',
  ],
  [
    'a refused resume that it does not reckon with',
    { actions: [start, until('request:1'), { ...resume, mutate: { op: 'replace', value: 1 } }] },
    'resume was refused: snapshot_incompatible',
  ],
  [
    'a wait after a refused resume',
    {
      tools: [gated],
      actions: [
        ...[start, asked, kill],
        ...[{ ...resume, mutate: { op: 'replace', value: '{}' }, mayFail: true }, asked],
      ],
    },
    'the run was refused',
  ],
  [
    'a tool that it does not have',
    { actions: [start, settled, { ...resume, tools: ['see'] }] },
    'there is no tool "see"',
  ],
  [
    'a part of a tool that it does not have',
    { actions: [start, settled, { ...resume, toolOverrides: { see: {} } }] },
    'there is no tool "see"',
  ],
  ['a resume of nothing', { actions: [resume] }, 'there is no run to resume'],
  [
    'workers of which none is refused where one has to be',
    {
      tools: [gated],
      actions: [start, asked, kill, resume, approve, settled],
      expect: { artifacts: someRefusal },
    },
    'artifacts.workerErrors',
  ],
];

afterAll(programs.remove);

describe.concurrent('a process of runs is killed', () => {
  const plays = (list: readonly (readonly [string, Parts])[]) =>
    list.map(([name, parts]) => [name, caseOf(parts)] as const);
  const meets = async (kase: ReturnType<typeof caseOf>): Promise<void> => {
    const { kind, reasons } = await playCase(kase, isStreamed(kase) ? 'sse' : 'json');
    expect({ kind, reasons }).toEqual({ kind: 'passed', reasons: [] });
  };
  const isStreamed = ({ script }: ReturnType<typeof caseOf>): boolean =>
    JSON.stringify(script).includes('"events"');

  it.each(plays(moments))('%s', (_name, kase) => meets(kase));
  it.each(plays(meanwhile))('and %s comes before it is resumed', (_name, kase) => meets(kase));
  it.each(plays(resumes))('and it is resumed %s', (_name, kase) => meets(kase));
  it.each(plays(workers))('and workers %s', (_name, kase) => meets(kase));

  it.each(planted)('and the case fails for %s', async (_name, parts, problem) => {
    const { kind, reasons } = await playCase(caseOf(parts), 'json');
    expect(kind).toBe('failed');
    expect(reasons.join('\n')).toContain(problem);
  });
});

describe('a process of runs', () => {
  const birth: Birth = {
    ...{ name: 'process 1', mode: 'json', url: 'http://127.0.0.1:1', responses: [], tools: [] },
    ...{ config: { model: 'claude-test-1' }, folder: null, runId: null },
  };

  it('answers an order that it does not understand, and none once it was killed', async () => {
    const { signal } = new AbortController();
    const crashes: string[] = [];
    const onCrash = (reason: string): void => void crashes.push(reason);
    const host = await hostInProcess({ birth, tell: () => {}, onCrash });
    await expect(host.ask('start', null as never, signal)).rejects.toThrow('null');
    await host.end();
    await expect(host.ask('look', null, signal)).rejects.toThrow('ended (SIGKILL)');
    expect(crashes).toEqual([]);
  });

  it('says why it can not begin', async () => {
    const born = hostInProcess({ birth: {} as never, tell: () => {}, onCrash: () => {} });
    await expect(born).rejects.toThrow('path');
  });
});
