import type { z } from 'zod';
import { limitOutput } from '../core/output-limit.ts';
import { toWellFormed } from '../core/well-formed.ts';

type Issue = z.core.$ZodIssue;

const maxIssues = 10;
const maxAlternatives = 4;
const maxPathChars = 120;
const maxMessageChars = 300;
const maxShownChars = 80;
const maxProblemChars = 3_000;

/**
 * What is wrong with an input, for the model that sent it: a line for each of the first ten issues, with the path,
 * what was expected and what was got. At most 3,000 characters of well-formed Unicode.
 */
export function describeIssues(issues: readonly Issue[], input: unknown): string {
  const lines = issues.slice(0, maxIssues).map((issue) => `- ${describeIssue(issue, input)}`);
  const more = issues.length - maxIssues;
  if (more > 0) lines.push(`- and ${more} more`);
  const text = ["The input does not fit the tool's schema:", ...lines].join('\n');
  return limitOutput(toWellFormed(text), maxProblemChars);
}

function describeIssue(issue: Issue, input: unknown): string {
  const expected = expectation(issue).slice(0, maxMessageChars);
  return `${showPath(issue.path)}: ${expected}. ${showGot(issue.path, input)}`;
}

function expectation(issue: Issue): string {
  const message = issue.message
    .replace(/^Invalid input(: )?/, '')
    .replace(/\.$/, '')
    .trim();
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) {
    return message || 'not valid';
  }
  const alternatives = issue.errors.slice(0, maxAlternatives).map(describeAlternative);
  return [...(message === '' ? [] : [message]), alternatives.join(', or ')].join(': ');
}

/** One branch of a union by its first issue; deeper unions are not unfolded. */
function describeAlternative(issues: readonly Issue[]): string {
  const [first] = issues;
  if (first === undefined) return 'not valid';
  const message = first.message.replace(/^Invalid input(: )?/, '') || 'another value';
  return first.path.length === 0 ? message : `at ${showPath(first.path)} ${message}`;
}

function showPath(path: readonly PropertyKey[]): string {
  const shown = path.map(showStep).join('').replace(/^\./, '');
  return shown === '' ? 'input' : shown.slice(0, maxPathChars);
}

function showStep(step: PropertyKey): string {
  if (typeof step === 'number') return `[${step}]`;
  const key = String(step).slice(0, maxPathChars);
  return /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function showGot(path: readonly PropertyKey[], input: unknown): string {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) {
      return 'Got nothing: it is missing.';
    }
    value = Reflect.get(value, step);
  }
  return `Got ${showValue(value)}.`;
}

function showValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  const isLong = value.length > maxShownChars;
  const shown = JSON.stringify(value.slice(0, maxShownChars));
  return isLong ? `${shown} and ${value.length - maxShownChars} more characters` : shown;
}
