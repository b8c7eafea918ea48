import { describe, expect, it } from 'vitest';
import { explainStep, type HeardDecisions } from '../../src/cli/why-step.ts';
import type { AgentOptions } from '../../src/runtime/agent-options.ts';
import { storeWithRun, wantsMail } from './stored-kit.ts';

const allowed: Partial<AgentOptions> = { permissions: { otherwise: 'allow' } };

const answers = ({ event, callId, decisions }: HeardDecisions) => ({
  event,
  callId,
  decisions: decisions.map(({ state, asked, target }) => [
    state,
    ...asked.map(({ guard, answer }) => `${guard} ${answer ? 'yes' : 'no'}`),
    `→ ${target}`,
  ]),
});

/** All that was asked in a run, by step. */
async function asked(script: Parameters<typeof storeWithRun>[0], options = allowed) {
  const store = await storeWithRun(script, options);
  const steps = await store.steps('mail');
  const pages = await Promise.all(
    steps.map(({ saveVersion }) => explainStep(store, 'mail', saveVersion)),
  );
  return { store, pages, all: pages.flatMap(({ heard }) => heard.map(answers)) };
}

describe('what was asked in a step', () => {
  it('begins with the budget check of the first turn', async () => {
    const { pages } = await asked(['Hello.']);
    expect(pages[0]?.start).toMatchObject({ state: 'checkBudget', target: 'callModel' });
    expect(pages.slice(1).map(({ start }) => start)).toEqual(pages.slice(1).map(() => null));
  });

  it('has each event with the questions on its way, the first yes last', async () => {
    const { all } = await asked([wantsMail, 'Done.']);
    expect(all[0]).toEqual({
      event: 'xstate.done.actor.modelCall',
      callId: null,
      decisions: [
        ['callModel', 'isReply yes', '→ routeToolUse'],
        ['routeToolUse', 'isRefusal no', 'wantsTools yes', '→ executeTools'],
      ],
    });
    expect(all).toContainEqual({
      event: 'call.works',
      callId: 'toolu_1',
      decisions: [['executeTools', '→ null']],
    });
    const settled = all.find(({ event }) => event.startsWith('xstate.done.actor.tool.'));
    expect(settled?.decisions.map(([state]) => state)).toEqual([
      'executeTools',
      'executeTools',
      'checkBudget',
    ]);
    expect(all.at(-1)?.decisions.at(-1)?.slice(-2)).toEqual(['hasMoreToSay no', '→ completed']);
  });

  it('has the numbers of that moment, not of the end', async () => {
    const { pages } = await asked([wantsMail, 'Done.'], { ...allowed, budget: { maxTurns: 9 } });
    const facts = pages.flatMap(({ heard }) =>
      heard.flatMap(({ decisions }) =>
        decisions.flatMap((decision) =>
          decision.asked.flatMap((each) => (each.guard === 'isOverBudget' ? [each.facts] : [])),
        ),
      ),
    );
    expect(facts).toHaveLength(1);
    expect(facts[0]).toMatch(/^turns 1 of 9, /);
  });

  it('shows an approval that was not the one, and one that was', async () => {
    const store = await storeWithRun([wantsMail, 'Done.']);
    const steps = await store.steps('mail');
    const last = await explainStep(store, 'mail', steps.length);
    expect(last.heard.map(answers).at(-1)).toMatchObject({
      event: 'call.waits',
      decisions: [
        ['executeTools', '→ null'],
        ['executeTools.working', 'isOnlyWaiting yes', '→ executeTools.waiting'],
      ],
    });
  });

  it('refuses a step that the run has not had', async () => {
    const { store, pages } = await asked(['Hello.']);
    for (const step of [0, pages.length + 1]) {
      const problem = {
        code: 'invalid_input',
        message: `--at: expected a step from 1 to ${pages.length}, got ${step}.`,
      };
      await expect(explainStep(store, 'mail', step)).rejects.toMatchObject(problem);
    }
  });
});
