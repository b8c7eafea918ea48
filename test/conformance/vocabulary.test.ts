import { describe, expect, it } from 'vitest';
import type { Behaviour, Case } from './load-case.ts';
import { playCase } from './play.ts';
import { sampleCase, sampleTool } from './sample-case.ts';
import { unknownWords } from './vocabulary.ts';

const behaving = (behaviour: object): Case =>
  sampleCase({ tools: [sampleTool(behaviour as Behaviour)] });
const doing = (action: object): Case => sampleCase({ actions: [action] });
const answering = (response: object): Case => sampleCase({ server: { responses: [response] } });
const expecting = (expectation: object): Case => sampleCase({ expect: expectation });
const withScript = (more: object): Case => {
  const kase = sampleCase();
  return { ...kase, script: { ...kase.script, ...more } };
};

const withCase = (more: object): Case => ({ ...sampleCase(), ...more });

const planted: readonly (readonly [string, Case])[] = [
  ['case field', withCase({ planted: 1 })],
  ['script field', withScript({ planted: 1 })],
  ['api', withScript({ api: 'planted' })],
  ['mode', withScript({ modes: ['planted'] })],
  ['config field', sampleCase({ config: { planted: 1 } })],
  ['limit', sampleCase({ config: { limits: { planted: 1 } } })],
  ['retry field', sampleCase({ config: { retry: { planted: 1 } } })],
  ['thinking field', sampleCase({ config: { thinking: { planted: 1 } } })],
  ['compaction field', sampleCase({ config: { compaction: { planted: 1 } } })],
  ['price', sampleCase({ config: { pricing: { planted: 1 } } })],
  ['toolChoice', sampleCase({ config: { toolChoice: { type: 'planted' } } })],
  ['server field', sampleCase({ server: { planted: 1 } })],
  ['rule', sampleCase({ server: { rules: { planted: 1 } } })],
  ['response field', answering({ planted: 1 })],
  ['framing', answering({ framing: { planted: 1 } })],
  ['event directive', answering({ events: [{ $planted: 1 }] })],
  ['event', answering({ events: ['planted'] })],
  ['chunk', answering({ chunks: [{ planted: 1 }] })],
  ['cut', answering({ cut: 'planted' })],
  ['matcher of a response', answering({ when: { model: { $planted: 1 } } })],
  ['tool field', sampleCase({ tools: [{ ...sampleTool(), planted: 1 } as never] })],
  [
    'approval predicate',
    sampleCase({ tools: [sampleTool(undefined, { needsApproval: 'planted' })] }),
  ],
  ['behaviour', behaving({ kind: 'planted' })],
  ['field of a behaviour', behaving({ kind: 'echo', planted: 1 })],
  ['behaviour after another', behaving({ kind: 'sequence', steps: [{ kind: 'planted' }] })],
  ['special', behaving({ kind: 'special', what: 'planted' })],
  ['action', doing({ do: 'planted' })],
  ['field of an action', doing({ do: 'abort', planted: 1 })],
  ['wait', doing({ do: 'wait', for: 'planted' })],
  ['wait for an unknown thing of a call', doing({ do: 'wait', for: 'planted:toolu_1' })],
  ['mutation', doing({ do: 'resume', from: 's', mutate: { op: 'planted' } })],
  // biome-ignore lint/suspicious/noThenProperty: the word of the case format
  ['action of a worker', doing({ do: 'resume', workers: 2, then: [{ do: 'planted' }] })],
  ['field of a resume', doing({ do: 'resume', planted: 1 })],
  ['field of a kill', doing({ do: 'kill', planted: 1 })],
  ['number of workers', doing({ do: 'resume', workers: 'planted' })],
  ['wish to retry', doing({ do: 'resume', retryFailed: 'planted' })],
  ['tool of a resume', doing({ do: 'resume', tools: [{ ...sampleTool(), planted: 1 }] })],
  ['part of a tool', doing({ do: 'resume', toolOverrides: { look: { planted: 1 } } })],
  ['part of a tool in a list', doing({ do: 'resume', toolOverrides: [{ planted: 1 }] })],
  ['config of a follow-up', doing({ do: 'send', text: 'x', config: { planted: 1 } })],
  ['expectation', expecting({ planted: 1 })],
  ['expectation of a checkpoint', expecting({ checkpoints: { a: { planted: 1 } } })],
  ['expectation of an alternative', expecting({ anyOf: [{ planted: 1 }] })],
  ['status', expecting({ status: ['completed', 'planted'] })],
  ['error code', expecting({ error: { code: 'planted' } })],
  ['matcher', expecting({ result: { text: { $planted: 1 } } })],
  ['matcher within a request', expecting({ requests: { at: { 1: { model: { $planted: 1 } } } } })],
  ['requests field', expecting({ requests: { planted: 1 } })],
  ['request', expecting({ requests: { at: { planted: {} } } })],
  ['usage field', expecting({ usage: { planted: 1 } })],
  ['artifact', expecting({ artifacts: { planted: 1 } })],
  ['invariant', expecting({ waive: ['planted'] })],
  ['bound', expecting({ toolExecutions: { toolu_1: { planted: 1 } } })],
];

describe('a word that the runner does not know', () => {
  it.each(planted)('is named: %s', async (_category, kase) => {
    expect(unknownWords(kase)).toEqual([expect.stringContaining('planted')]);
    const { kind, reasons } = await playCase(kase, 'json');
    expect(kind).toBe('failed');
    expect(reasons).toEqual(unknownWords(kase));
  });

  it('fails a case that would be skipped otherwise', async () => {
    const kase = withScript({ api: 'openai', planted: 1 });
    expect((await playCase(kase, 'json')).kind).toBe('failed');
  });
});

const lacking: readonly (readonly [string, Case, string])[] = [
  ['no modes', withScript({ modes: undefined }), 'script.modes: expected a list'],
  ['an empty list of modes', withScript({ modes: [] }), 'script.modes: the list is empty'],
  ['no actions', withScript({ actions: undefined }), 'script.actions: expected a list'],
  ['no list of actions', withScript({ actions: {} }), 'script.actions: expected a list'],
  ['an empty list of actions', withScript({ actions: [] }), 'script.actions: the list is empty'],
  ['no server', withScript({ server: {} }), 'script.server.responses: the server field is missing'],
  ['an event that is nothing', answering({ events: [null] }), 'expected an object'],
  ['no expectation', withCase({ expect: {} }), 'expect: it expects nothing'],
  [
    'a time limit as its only expectation',
    withCase({ expect: { timeoutMs: 1, waive: ['once'] } }),
    'expect: it expects nothing',
  ],
  [
    'an expectation without content',
    withCase({ expect: { requests: {}, anyOf: [] } }),
    'expect: it expects nothing',
  ],
  ['an alternative that expects nothing', expecting({ anyOf: [{ name: 'any' }] }), 'anyOf[0]: it'],
  ['a checkpoint that expects nothing', expecting({ checkpoints: { a: {} } }), 'checkpoints.a: it'],
];

describe('a case that lacks something', () => {
  it.each(lacking)('fails and says so: %s', async (_name, kase, problem) => {
    const { kind, reasons } = await playCase(kase, 'json');
    expect(kind).toBe('failed');
    expect(reasons).toEqual([expect.stringContaining(problem)]);
  });
});

const untrue: readonly (readonly [string, object])[] = [
  ['status', { status: 'refused' }],
  ['error', { error: { code: 'refused' } }],
  ['text', { result: { text: 'Nothing is fine.' } }],
  ['count of executions', { toolExecutions: { toolu_1: 2 } }],
  ['no executions', { toolExecutions: {} }],
  ['total of executions', { totalExecutions: 2 }],
  ['input of a tool', { toolInputs: { toolu_1: [{ at: 2 }] } }],
  ['usage', { usage: { inputTokens: 1 } }],
  ['pending calls', { pending: ['toolu_1'] }],
  ['count of requests', { requests: { count: 1 } }],
  ['content of a request', { requests: { at: { 2: { model: 'other' } } } }],
  ['request that never came', { requests: { at: { 3: {} } } }],
  ['identical requests', { requests: { identical: [[1, 2]] } }],
  ['event', { events: { include: [{ type: 'never.told' }] } }],
  ['absent event', { events: { exclude: [{ type: 'run.ended' }] } }],
  ['checkpoint', { checkpoints: { never: { status: 'completed' } } }],
  ['one of the alternatives', { anyOf: [{ status: 'failed' }, { status: 'refused' }] }],
  ['duration', { durationMs: { min: 60_000 } }],
  ['size of a request', { artifacts: { maxRequestBytes: 1 } }],
  ['everything that was said', { artifacts: { everything: { $notContains: 'fine' } } }],
  ['terminal events', { artifacts: { terminalEvents: 2 } }],
  ['approval predicate', { artifacts: { approvalPredicateCalls: 1 } }],
  ['refused actions', { artifacts: { actionErrors: [{ do: 'approve' }] } }],
  ['rejected steering', { artifacts: { steerRejected: true } }],
  ['equal snapshots', { artifacts: { snapshotsEqual: ['a=b'] } }],
  ['listeners', { artifacts: { abortListenersLeft: { $gte: 1 } } }],
  ['pollution', { artifacts: { objectPrototypePolluted: true } }],
];

describe('an expectation that is not true', () => {
  it.each(untrue)('fails the case: %s', async (_name, expectation) => {
    const { kind, reasons } = await playCase(sampleCase({ expect: expectation }), 'sse');
    expect({ kind, reasons }).toEqual({ kind: 'failed', reasons: [expect.any(String)] });
  });

  it.each(['json', 'sse'] as const)('is none in the case itself, as %s', async (mode) => {
    expect(await playCase(sampleCase(), mode)).toMatchObject({ kind: 'passed', reasons: [] });
  });
});
