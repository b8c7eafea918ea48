import { invalidInput } from '../core/errors.ts';
import { matchesPattern } from '../core/glob.ts';
import { isJsonObject } from '../core/json.ts';
import { nearNames } from '../core/near-names.ts';
import type { ToolEffect } from '../core/tool-call.ts';

export type Decision = 'allow' | 'ask' | 'deny';

/** What is known of the tool that a call names. */
export interface RuledTool {
  readonly name: string;
  readonly effect: ToolEffect;
}

/**
 * A tool name, in which `*` stands for any run of characters; or such a name with a condition on the parsed input.
 * A condition that throws, rejects or answers anything but a boolean denies the call.
 */
export type Rule =
  | string
  | {
      readonly tool: string;
      readonly when: (input: unknown, call: RuledTool) => boolean | Promise<boolean>;
    };

/** Which calls go on by themselves. Deny beats ask, ask beats allow; the order of the rules means nothing. */
export interface Permissions {
  readonly allow?: readonly Rule[];
  /** A person decides. */
  readonly ask?: readonly Rule[];
  readonly deny?: readonly Rule[];
  /** For calls that no rule matches. Default: `allow` for tools with the effect `read`, `ask` for all others. */
  readonly otherwise?: Decision;
}

const strictestFirst = ['deny', 'ask', 'allow'] as const;

/** Decides one call; never throws. Conditions are asked one by one, and not any more once the answer is known. */
export async function decide(
  permissions: Permissions,
  tool: RuledTool,
  input: unknown,
): Promise<Decision> {
  try {
    for (const decision of strictestFirst) {
      for (const rule of permissions[decision] ?? []) {
        if (await appliesTo(rule, tool, input)) return decision;
      }
    }
  } catch {
    return 'deny';
  }
  return permissions.otherwise ?? (tool.effect === 'read' ? 'allow' : 'ask');
}

/**
 * Whether a call that a person has approved is denied all the same; never throws. Conditions of `ask` and `allow` are
 * put only where the answer depends on them: what they ask for has been answered.
 */
export async function isDeniedStill(
  permissions: Permissions,
  tool: RuledTool,
  input: unknown,
): Promise<boolean> {
  const { deny = [], otherwise } = permissions;
  const deciding: Permissions = otherwise === 'deny' ? permissions : { deny, otherwise: 'allow' };
  return (await decide(deciding, tool, input)) === 'deny';
}

async function appliesTo(
  rule: Rule,
  { name, effect }: RuledTool,
  input: unknown,
): Promise<boolean> {
  if (typeof rule === 'string') return matchesPattern(rule, name);
  if (!matchesPattern(rule.tool, name)) return false;
  const answer: unknown = await rule.when(input, { name, effect });
  if (typeof answer === 'boolean') return answer;
  throw new TypeError('A condition must answer with a boolean');
}

/**
 * Checks the rules against the tools there are. A name without `*` must be one of them: a deny rule with a typo
 * denies nothing. A name with `*` may match none yet.
 * @throws PawlError `invalid_input`, naming the rule.
 */
export function checkPermissions(permissions: unknown, toolNames: readonly string[]): void {
  if (!isJsonObject(permissions)) throw invalidInput('permissions', 'an object', permissions);
  checkKeys('permissions', permissions, ['allow', 'ask', 'deny', 'otherwise']);
  for (const decision of strictestFirst) {
    const rules: unknown = permissions[decision] ?? [];
    const field = `permissions.${decision}`;
    if (!Array.isArray(rules)) throw invalidInput(field, 'a list of rules', rules);
    // By index: a hole in the list is an error too.
    for (let index = 0; index < rules.length; index++) {
      checkRule(`${field}[${index}]`, rules[index], toolNames);
    }
  }
  const { otherwise } = permissions;
  if (otherwise !== undefined && !strictestFirst.some((decision) => decision === otherwise)) {
    throw invalidInput('permissions.otherwise', '"allow", "ask" or "deny"', otherwise);
  }
}

function checkRule(field: string, rule: unknown, toolNames: readonly string[]): void {
  if (typeof rule === 'string') {
    checkPattern(field, rule, toolNames);
    return;
  }
  if (!isJsonObject(rule)) throw invalidInput(field, 'a tool name or { tool, when }', rule);
  checkKeys(field, rule, ['tool', 'when']);
  const { tool, when }: { readonly tool?: unknown; readonly when?: unknown } = rule;
  checkPattern(`${field}.tool`, tool, toolNames);
  if (typeof when !== 'function') throw invalidInput(`${field}.when`, 'a function', when);
}

function checkPattern(field: string, pattern: unknown, toolNames: readonly string[]): void {
  if (typeof pattern !== 'string' || pattern.trim() === '') {
    throw invalidInput(field, 'a tool name, with or without "*"', pattern);
  }
  if (pattern.includes('*') || toolNames.includes(pattern)) return;
  throw invalidInput(field, `the name of a tool${suggest(pattern, toolNames)}`, pattern);
}

function checkKeys(field: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw invalidInput(field, `only ${known.join(', ')}${suggest(unknown, known)}`, unknown);
}

function suggest(name: string, known: readonly string[]): string {
  const near = nearNames(name, known).map((candidate) => `"${candidate}"`);
  return near.length === 0 ? '' : ` (did you mean ${near.join(' or ')}?)`;
}
