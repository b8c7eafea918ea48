import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PawlError } from '../../src/core/errors.ts';
import type { ToolEffect } from '../../src/core/tool-call.ts';
import {
  checkPermissions,
  type Decision,
  decide,
  isDeniedStill,
  type Permissions,
  type Rule,
  type RuledTool,
} from '../../src/tools/permissions.ts';

const mail: RuledTool = { name: 'send_mail', effect: 'once' };
const read: RuledTool = { name: 'read_file', effect: 'read' };

const when = (answer: () => unknown, tool = '*'): Rule => {
  const rule = { tool, when: answer };
  return rule as Rule;
};
const fails = () => {
  throw new Error('no');
};

describe('decide', () => {
  it.each<[string, Permissions, RuledTool, Decision]>([
    ['allows a reader when nothing is said', {}, read, 'allow'],
    ['asks for a once tool when nothing is said', {}, mail, 'ask'],
    [
      'asks for an idempotent tool when nothing is said',
      {},
      { ...mail, effect: 'idempotent' },
      'ask',
    ],
    ['takes the default that is given', { otherwise: 'deny' }, read, 'deny'],
    [
      'takes the rule before the default',
      { allow: ['send_mail'], otherwise: 'deny' },
      mail,
      'allow',
    ],
    ['lets ask beat allow', { allow: ['*'], ask: ['send_*'] }, mail, 'ask'],
    ['lets deny beat ask and allow', { allow: ['*'], ask: ['*'], deny: ['*_mail'] }, mail, 'deny'],
    ['takes no notice of case variants', { deny: ['SEND_MAIL'], otherwise: 'ask' }, mail, 'ask'],
    ['asks a condition', { deny: [when(() => true)] }, mail, 'deny'],
    [
      'goes on after a condition that says no',
      { deny: [when(() => false)], allow: ['*'] },
      mail,
      'allow',
    ],
    ['waits for a condition', { allow: [when(async () => true)] }, mail, 'allow'],
    ['denies when a deny condition throws', { deny: [when(fails)], allow: ['*'] }, read, 'deny'],
    ['denies when an ask condition throws', { ask: [when(fails)] }, read, 'deny'],
    ['denies when an allow condition throws', { allow: [when(fails)] }, read, 'deny'],
    ['denies when a condition rejects', { allow: [when(async () => fails())] }, read, 'deny'],
    ['denies on an answer that is only truthy', { allow: [when(() => 'yes')] }, read, 'deny'],
    ['denies on an answer that is only falsy', { deny: [when(() => 0)] }, read, 'deny'],
    ['denies on no answer', { ask: [when(() => undefined)] }, read, 'deny'],
    [
      'does not consult conditions for other tools',
      { deny: [when(fails, 'send_mail')] },
      read,
      'allow',
    ],
    ['does not consult allow once it must ask', { ask: ['*'], allow: [when(fails)] }, read, 'ask'],
    [
      'knows the names of Object.prototype as names only',
      { deny: ['constructor'] },
      { name: 'constructor', effect: 'read' },
      'deny',
    ],
  ])('%s', async (_name, permissions, tool, expected) => {
    expect(await decide(permissions, tool, {})).toBe(expected);
  });

  it('shows the condition the parsed input and the tool', async () => {
    const seen: unknown[] = [];
    const rule: Rule = {
      tool: 'send_*',
      when: (input, call) => {
        seen.push(input, call);
        return true;
      },
    };
    expect(await decide({ deny: [rule] }, mail, { to: 'ada' })).toBe('deny');
    expect(seen).toEqual([{ to: 'ada' }, { name: 'send_mail', effect: 'once' }]);
  });

  it('denies for whatever is thrown, even undefined', async () => {
    const rejects = when(() => Promise.reject(undefined));
    expect(await decide({ allow: [rejects] }, read, {})).toBe('deny');
  });
});

type Answer = 'plain' | 'yes' | 'no' | 'later yes' | 'later no' | 'throws' | 'rejects' | 'junk';
interface Drawn {
  readonly tool: string;
  readonly answer: Answer;
}
interface DrawnPermissions {
  readonly allow: readonly Drawn[];
  readonly ask: readonly Drawn[];
  readonly deny: readonly Drawn[];
  readonly otherwise: Decision | undefined;
}

/** What the rules mean, written another way: each rule votes, and the strictest kind of vote that is cast counts. */
function reference(drawn: DrawnPermissions, { name, effect }: RuledTool): Decision {
  const vote = ({ tool, answer }: Drawn): 'match' | 'pass' | 'broken' => {
    const source = tool.split('*').join('.*');
    if (!new RegExp(`^${source}$`).test(name)) return 'pass';
    if (answer === 'throws' || answer === 'rejects' || answer === 'junk') return 'broken';
    return answer === 'no' || answer === 'later no' ? 'pass' : 'match';
  };
  const outcomeOf = (rules: readonly Drawn[]) => rules.map(vote).find((cast) => cast !== 'pass');
  const [denied, asked, allowed] = [drawn.deny, drawn.ask, drawn.allow].map(outcomeOf);
  if (denied !== undefined) return 'deny';
  if (asked !== undefined) return asked === 'match' ? 'ask' : 'deny';
  if (allowed !== undefined) return allowed === 'match' ? 'allow' : 'deny';
  if (drawn.otherwise !== undefined) return drawn.otherwise;
  return effect === 'read' ? 'allow' : 'ask';
}

function toRule({ tool, answer }: Drawn): Rule {
  if (answer === 'plain') return tool;
  return when(() => {
    if (answer === 'throws') throw new Error('broken');
    if (answer === 'rejects') return Promise.reject(new Error('broken'));
    if (answer === 'junk') return 'true';
    const isYes = answer.endsWith('yes');
    return answer.startsWith('later') ? Promise.resolve(isYes) : isYes;
  }, tool);
}

function toPermissions({ allow, ask, deny, otherwise }: DrawnPermissions): Permissions {
  const lists = { allow: allow.map(toRule), ask: ask.map(toRule), deny: deny.map(toRule) };
  return otherwise === undefined ? lists : { ...lists, otherwise };
}

it('decides as the reference does, over random rules and calls', async () => {
  const name = fc.constantFrom('a', 'ab', 'b', 'ba', '__proto__', 'toString');
  const answers: Answer[] = [
    'plain',
    'yes',
    'no',
    'later yes',
    'later no',
    'throws',
    'rejects',
    'junk',
  ];
  const rules = fc.array(
    fc.record({
      tool: fc.oneof(name, fc.constantFrom('*', 'a*', '*b', '*a*', '__*')),
      answer: fc.constantFrom(...answers),
    }),
    { maxLength: 4 },
  );
  const otherwise = fc.constantFrom('allow', 'ask', 'deny', undefined);
  const permissions = fc.record({ allow: rules, ask: rules, deny: rules, otherwise });
  const effect = fc.constantFrom<ToolEffect>('read', 'idempotent', 'once');
  const counts = new Map<Decision, number>();
  await fc.assert(
    fc.asyncProperty(permissions, fc.record({ name, effect }), async (drawn, tool) => {
      const expected = reference(drawn, tool);
      counts.set(expected, (counts.get(expected) ?? 0) + 1);
      expect(await decide(toPermissions(drawn), tool, {})).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
  for (const decision of ['allow', 'ask', 'deny'] as const) {
    expect(counts.get(decision), decision).toBeGreaterThan(100);
  }
});

it('decides the same in whatever order the sound rules of a list are', async () => {
  const rule = fc.record({
    tool: fc.constantFrom('*', 'a', 'a*', 'b'),
    answer: fc.constantFrom<Answer>('plain', 'yes', 'no', 'later no'),
  });
  const rules = fc.array(rule, { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(rules, rules, rules, async (allow, ask, deny) => {
      const drawn = { allow, ask, deny, otherwise: undefined };
      const turned = {
        ...drawn,
        allow: allow.toReversed(),
        ask: ask.toReversed(),
        deny: deny.toReversed(),
      };
      const tool: RuledTool = { name: 'a', effect: 'once' };
      const first = await decide(toPermissions(drawn), tool, {});
      expect(await decide(toPermissions(turned), tool, {})).toBe(first);
    }),
  );
});

describe('isDeniedStill', () => {
  const never = when(() => expect.fail('this condition decides nothing any more'));

  it.each<[string, Permissions, boolean]>([
    ['lets an approved call run without asking again', { ask: [never], allow: [never] }, false],
    ['keeps to a deny rule', { ask: [never], deny: ['send_*'] }, true],
    ['is denied by a condition that throws', { deny: [when(fails)] }, true],
    ['denies what no rule lets through', { ask: ['read_*'], otherwise: 'deny' }, true],
    ['finds the rule that asked', { ask: ['send_*'], otherwise: 'deny' }, false],
  ])('%s', async (_name, permissions, expected) => {
    expect(await isDeniedStill(permissions, mail, {})).toBe(expected);
  });
});

describe('checkPermissions', () => {
  const names = ['read_file', 'send_mail', 'constructor'];

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['undefined lists', { allow: undefined }],
    ['known names', { allow: ['read_file'], ask: ['send_mail'], deny: ['constructor'] }],
    ['a pattern that matches nothing yet', { deny: ['mcp_*'] }],
    ['a condition', { ask: [{ tool: 'send_mail', when: () => true }] }],
    ['a default', { otherwise: 'deny' }],
  ])('takes %s', (_name, permissions) => {
    expect(checkPermissions(permissions, names)).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'permissions'],
    ['a list', ['read_file'], 'permissions'],
    ['a key with a typo', { denny: [] }, 'did you mean "deny"'],
    ['a key of Object.prototype', { constructor: [] }, 'permissions: expected only'],
    ['an own __proto__ key', JSON.parse('{"__proto__":{"deny":[]}}'), 'permissions: expected only'],
    ['a rule instead of a list', { deny: 'read_file' }, 'permissions.deny'],
    ['null instead of a rule', { deny: ['read_file', null] }, 'permissions.deny[1]'],
    ['a hole', { deny: new Array(1) }, 'permissions.deny[0]'],
    ['an empty pattern', { allow: [''] }, 'permissions.allow[0]'],
    ['a blank pattern', { allow: [' '] }, 'permissions.allow[0]'],
    ['a name with a typo', { deny: ['send_mial'] }, 'did you mean "send_mail"'],
    ['a name in another case', { deny: ['Send_Mail'] }, 'did you mean "send_mail"'],
    ['a name of no tool', { deny: ['toString'] }, 'permissions.deny[0]'],
    [
      'a typo beside a condition',
      { ask: [{ tool: 'send', when: () => true }] },
      'permissions.ask[0].tool',
    ],
    ['no name', { ask: [{ when: () => true }] }, 'permissions.ask[0].tool'],
    ['no condition', { ask: [{ tool: 'send_mail' }] }, 'permissions.ask[0].when'],
    [
      'a condition that is no function',
      { ask: [{ tool: '*', when: true }] },
      'permissions.ask[0].when',
    ],
    [
      'a rule with another key',
      { ask: [{ tool: '*', when: () => true, unless: 1 }] },
      'permissions.ask[0]',
    ],
    ['an unknown default', { otherwise: 'never' }, 'permissions.otherwise'],
    ['an inherited default', { otherwise: 'toString' }, 'permissions.otherwise'],
  ])('refuses %s', (_name, permissions, field) => {
    const check = () => checkPermissions(permissions, names);
    expect(check).toThrow(field);
    expect(check).toThrow(PawlError);
  });
});
