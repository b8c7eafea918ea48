import { expect, it } from 'vitest';
import { nearNames } from '../../src/core/near-names.ts';

const tools = ['read_file', 'write_file', 'list_files', 'search', 'run_command', 'ls'];

it.each([
  ['readfile', ['read_file']],
  ['Read-File', ['read_file']],
  ['read file', ['read_file']],
  ['raed_file', ['read_file']],
  ['serach', ['search']],
  ['run_comand', ['run_command']],
  ['list_file', ['list_files']],
  ['ps', ['ls']],
  ['delete_everything', []],
  ['x', []],
  ['', []],
  ['__proto__', []],
])('names meant by %j', (name, expected) => {
  expect(nearNames(name, tools)).toEqual(expected);
});

it('puts the nearest first and, among equals, keeps the given order', () => {
  expect(nearNames('tool_x', ['tool_ab', 'tool_b', 'tool_x', 'tool_a'])).toEqual([
    'tool_x',
    'tool_b',
    'tool_a',
  ]);
});

it.each([
  [2, ['tool_1', 'tool_2']],
  [0, []],
  [-1, []],
])('gives at most %d', (most, expected) => {
  expect(nearNames('tool_0', ['tool_1', 'tool_2', 'tool_3'], most)).toEqual(expected);
});

it('names a tool once, also when the list holds it twice', () => {
  expect(nearNames('sarch', ['search', 'search'])).toEqual(['search']);
});

it('gives known names whole, however long they are', () => {
  const long = `${'a'.repeat(200)}b`;
  expect(nearNames('a'.repeat(190), [long])).toEqual([long]);
});

it('compares only the beginning of a hostile name', () => {
  const known = Array.from({ length: 500 }, (_, index) => `${'a'.repeat(120)}${index}`);
  expect(nearNames('a'.repeat(5_000_000), known)).toHaveLength(3);
});
