import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { agentLoop } from '../../machines/index.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { chartOf } from '../../src/diagrams/chart.ts';
import { toMermaid } from '../../src/diagrams/mermaid.ts';
import type { Script } from '../../src/testing/script.ts';
import { startScriptedServer } from '../../src/testing/scripted-server.ts';
import { type CliOptions, defineToolUrl, parseLines, pawl } from './spawn-cli.ts';

const quotient = String(699_678 / 13);
let folder: string;

// Each test starts processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const toolsSource = `
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from ${JSON.stringify(await defineToolUrl())};
export default [
  defineTool({
    name: 'send_mail', description: 'Sends a mail.', effect: 'once',
    input: { type: 'object', properties: { to: { type: 'string' } } },
    run: ({ to }) => { appendFileSync(join(process.cwd(), 'sent'), to); return 'sent'; },
  }),
  defineTool({
    name: 'wait', description: 'Waits for its end.', effect: 'read', input: { type: 'object' },
    run: (_input, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
  }),
];
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-cli-'));
  await writeFile(join(folder, 'tools.mjs'), toolsSource);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the command against a scripted server, as if that were the real API. */
async function pawlWith(script: Script, args: readonly string[], options: CliOptions = {}) {
  const server = await startScriptedServer(script);
  try {
    const env = { ANTHROPIC_API_KEY: 'sk-test-0123456789', ANTHROPIC_BASE_URL: server.url };
    const end = await pawl(args, { folder, ...options, env: { ...env, ...options.env } });
    return { ...end, requests: server.requests };
  } finally {
    await server.close();
  }
}

const sendsMail: Script = [{ toolUses: [{ name: 'send_mail', input: { to: 'ada' } }] }, 'Done.'];
const hangs: Script = [{ stream: [{ $hang: true }] }];
const lastLine = (stdout: string) => parseLines(stdout).at(-1) ?? {};

describe('pawl run without a key', () => {
  it('plays the demo through the real wire, shows its states and ends with 0', async () => {
    const { code, stdout, stderr } = await pawl(['run']);
    expect(stdout).toMatch(
      new RegExp(
        `^1234 × 567 = 699678\\. Divided by 13, that is ${quotient}\\. Today is \\w+day\\.\\n$`,
      ),
    );
    for (const words of [
      'scripted model',
      'ANTHROPIC_API_KEY',
      'http://127.0.0.1:',
      '○ callModel',
      '○ executeTools.working',
      '→ multiply {"a":1234,"b":567}',
      '→ weekday {}',
      '← multiply 699678',
      '→ divide {"a":699678,"b":13}',
      `← divide ${quotient}`,
      '● completed',
      '3 model calls · 3 tool calls',
    ]) {
      expect(stderr).toContain(words);
    }
    expect(stderr).not.toContain('\u001b');
    expect(code).toBe(0);
  });

  it('says that a prompt was not used', async () => {
    const { code, stderr } = await pawl(['run', 'Why is the sky blue?']);
    expect(stderr).toContain('Your prompt was not used');
    expect(stderr).not.toContain('sky');
    expect(code).toBe(0);
  });

  it('leaves an open standard input alone', async () => {
    const { code } = await pawl(['run', '-'], { input: '' });
    expect(code).toBe(0);
  });

  it('gives the same answer without streams', async () => {
    const { code, stdout } = await pawl(['run', '--no-stream']);
    expect(stdout).toContain(quotient);
    expect(code).toBe(0);
  });

  it('writes every event as a line of JSON, and an exit line at the end', async () => {
    const { code, stdout } = await pawl(['run', '--json']);
    const events = parseLines(stdout);
    expect(events[0]).toMatchObject({ type: 'run.started' });
    expect(events.at(-2)).toMatchObject({ type: 'run.ended', status: 'completed' });
    expect(events.at(-1)).toMatchObject({
      type: 'exit',
      code: 0,
      reason: 'The model gave its answer.',
      result: { status: 'completed', budget: { spend: { turns: 3, toolCalls: 3 } } },
    });
    const text = events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');
    expect(text).toContain(quotient);
    expect(code).toBe(0);
  });

  it.each([
    ['stop', 'The limit maxTurns was reached', 3],
    ['ask', 'waits for a higher limit', 4],
  ])('at a limit with --on-limit %s: %s', async (onLimit, words, expected) => {
    const { code, stdout, stderr } = await pawl(['run', '--max-turns', '1', '--on-limit', onLimit]);
    expect(stderr).toContain(words);
    expect(stderr).toContain('--max-turns');
    expect(stdout).toBe('');
    expect(code).toBe(expected);
  });

  it('gives no advice that was followed already', async () => {
    const args = ['run', '--max-turns', '1', '--on-limit', 'wrapUp'];
    const { code, stderr } = await pawl(args);
    expect(stderr).toContain('Go on with a higher limit: pawl resume');
    expect(stderr).not.toContain('--on-limit');
    expect(code).toBe(3);
  });

  it('names the limit in the JSON', async () => {
    const { code, stdout } = await pawl(['run', '--max-turns', '1', '--json']);
    expect(lastLine(stdout)).toMatchObject({
      code: 3,
      reason: expect.stringContaining('maxTurns'),
      result: { limit: { name: 'maxTurns', max: 1 }, error: { code: 'budget_exceeded' } },
    });
    expect(code).toBe(3);
  });

  it('prompts nobody without a terminal, and is left waiting', async () => {
    const { code, stderr } = await pawl(['run', '--ask']);
    expect(stderr).toContain('2 calls wait for a person to decide.');
    expect(stderr).toMatch(/multiply \{"a":1234,"b":567\} hash [0-9a-f]{12}\n/);
    expect(stderr).not.toContain('→');
    expect(code).toBe(4);
  });

  it('stays quiet when nobody reads its output', async () => {
    const { code, stderr } = await pawl(['run', '--json'], { isReadOnce: true });
    expect(stderr).not.toMatch(/EPIPE|at .*\.[jt]s:\d+/);
    expect([0, 130]).toContain(code);
  });
});

describe('pawl run with a key', () => {
  it('asks the model with the prompt, the instructions and the demo tools', async () => {
    const { code, stdout, stderr, requests } = await pawlWith(
      ['Because.'],
      ['run', 'Why?', '--system', 'Be brief.', '--model', 'claude-haiku-5-5'],
    );
    expect(stdout).toBe('Because.\n');
    expect(code).toBe(0);
    const [request] = requests;
    expect(request?.headers.authorization).toBe('Bearer sk-test-0123456789');
    expect(request?.body.model).toBe('claude-haiku-5-5');
    expect(JSON.stringify(request?.body.messages)).toContain('Why?');
    expect(JSON.stringify(request?.body.system)).toContain('Be brief.');
    const tools = request?.body.tools as readonly { readonly name: string }[];
    expect(tools.map(({ name }) => name)).toEqual(['multiply', 'divide', 'weekday']);
    expect(stderr).toMatch(/claude-haiku-5-5 at http:\/\/127\.0\.0\.1:\d+/);
  });

  it.each([['-'], []])('reads the prompt from standard input: run %s', async (...args) => {
    const { code, requests } = await pawlWith(['ok'], ['run', ...args], { input: 'piped words\n' });
    expect(JSON.stringify(requests[0]?.body.messages)).toContain('piped words');
    expect(code).toBe(0);
  });

  it('leaves a call waiting that nobody decides about', async () => {
    const args = ['run', 'Go.', '--tools', 'tools.mjs', '--json'];
    const { code, stdout, requests } = await pawlWith(sendsMail, args);
    expect(lastLine(stdout)).toMatchObject({
      type: 'exit',
      code: 4,
      reason: '1 call waits for a person to decide.',
      pending: [{ name: 'send_mail', input: { to: 'ada' }, waits: { for: 'approval' } }],
      result: { status: 'suspended' },
    });
    expect(requests).toHaveLength(1);
    expect(code).toBe(4);
  });

  it('runs every call with --yes', async () => {
    const own = await mkdtemp(join(folder, 'yes-'));
    await writeFile(join(own, 'tools.mjs'), toolsSource);
    const args = ['run', 'Go.', '--tools', './tools.mjs', '--yes'];
    const { code, stdout } = await pawlWith(sendsMail, args, { folder: own });
    expect(stdout).toBe('Done.\n');
    expect(await readdir(own)).toContain('sent');
    expect(code).toBe(0);
  });

  it('ends with 6 when the model refuses', async () => {
    const refuses: Script = [{ text: 'No.', stopReason: 'refusal' }];
    expect(await pawlWith(refuses, ['run', 'Go.'])).toMatchObject({ code: 6 });
  });

  it('ends with 1 when the API refuses the request', async () => {
    const fails: Script = [
      { error: { status: 401, type: 'authentication_error', message: 'bad \u001b[31mkey' } },
    ];
    const { code, stdout, stderr } = await pawlWith(fails, ['run', 'Go.']);
    expect(stderr).toContain('● failed');
    expect(stderr).toContain('Look at ANTHROPIC_API_KEY.');
    expect(stderr).not.toMatch(/[^\P{Cc}\n]|\n\s+at /u);
    expect(stdout).toBe('');
    expect(code).toBe(1);
  });

  it('ends with 130 after SIGINT', async () => {
    const signal = { name: 'SIGINT', after: 'turn 1' } as const;
    const { code, stderr } = await pawlWith(hangs, ['run', 'Go.'], { signal });
    expect(stderr).toContain('● cancelled');
    expect(code).toBe(130);
  });

  it('is saved and left where it is after SIGTERM, with 130', async () => {
    const signal = { name: 'SIGTERM', after: 'turn 1' } as const;
    const { code, stderr } = await pawlWith(hangs, ['run', 'Go.'], { signal });
    expect(stderr).not.toContain('● cancelled');
    expect(stderr).toContain('● The run was stopped at work. It is saved and can go on.');
    expect(stderr).toMatch(/Go on: pawl resume [0-9a-f]{8}\n/);
    expect(code).toBe(130);
  });

  it('does not wait for a tool when it is cancelled', async () => {
    const script: Script = [{ toolUses: [{ name: 'wait' }] }];
    const signal = { name: 'SIGINT', after: '→ wait' } as const;
    const args = ['run', 'Go.', '--tools', 'tools.mjs'];
    const { code, stderr } = await pawlWith(script, args, { signal });
    expect(stderr).toContain('← wait stopped');
    expect(code).toBe(130);
  });

  it('shows hostile output without a control character', async () => {
    const hostile = '\u001b[2J\u001b]8;;http://evil\u0007\u009b31m\u202eevil\u0000\r\u{e0041}';
    const script: Script = [
      { text: hostile, toolUses: [{ name: 'send_mail', input: { to: hostile } }] },
      hostile,
    ];
    const own = await mkdtemp(join(folder, 'hostile-'));
    await writeFile(join(own, 'tools.mjs'), toolsSource);
    const args = ['run', 'Go.', '--tools', 'tools.mjs', '--yes'];
    const { code, stdout, stderr } = await pawlWith(script, args, { folder: own });
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    expect(stdout).toContain('\\u{1b}[2J\\u{1b}]8;;http://evil\\u{7}\\u{9b}31m\\u{202e}evil');
    expect(stderr).toContain('→ send_mail');
    expect(code).toBe(0);

    const json = await pawlWith(script, [...args, '--json'], { folder: own });
    expect(json.stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    expect(lastLine(json.stdout)).toMatchObject({ result: { text: hostile } });
  });
});

describe('pawl chat', () => {
  it('makes each line a follow-up', async () => {
    const script: Script = ({ number }) => `Answer ${number}.`;
    const input = 'first\n\nsecond\n';
    const { code, stdout, requests } = await pawlWith(script, ['chat'], { input });
    expect(stdout).toBe('Answer 1.\nAnswer 2.\n');
    const texts = JSON.stringify(requests[1]?.body.messages);
    for (const text of ['first', 'Answer 1.', 'second']) expect(texts).toContain(text);
    expect(code).toBe(0);
  });

  it('stops at the first line of a pipe that does not complete, with its code', async () => {
    const input = 'first\nsecond\n';
    const args = ['chat', '--tools', 'tools.mjs', '--json'];
    const { code, stdout, requests } = await pawlWith(sendsMail, args, { input });
    expect(lastLine(stdout)).toMatchObject({ type: 'exit', code: 4 });
    expect(requests).toHaveLength(1);
    expect(code).toBe(4);
  });

  it('asks nothing when there is no line', async () => {
    const { code, stdout } = await pawl(['chat', '--json'], { input: '\n' });
    expect(parseLines(stdout)).toEqual([
      { type: 'exit', code: 0, reason: 'Nothing was asked.', pending: [], result: null },
    ]);
    expect(code).toBe(0);
  });
});

it('prints a diagram', async () => {
  const { code, stdout, stderr } = await pawl(['diagram', 'agent-loop']);
  expect(stdout).toBe(toMermaid(chartOf(agentLoop)));
  expect(stderr).toBe('');
  expect(code).toBe(0);
});

it('prints its help', async () => {
  const { code, stdout, stderr } = await pawl(['--help']);
  expect(stdout).toMatch(/^Usage: pawl/);
  expect(stderr).toBe('');
  expect(code).toBe(0);
});

describe('a tools file that never ends to load', () => {
  let own: string;
  beforeAll(async () => {
    own = await mkdtemp(join(tmpdir(), 'pawl-standstill-'));
    await writeFile(join(own, 'stuck.mjs'), 'await new Promise(() => {}); export default [];');
  });
  afterAll(() => rm(own, { recursive: true, force: true }));

  it.each([
    ['on stderr', []],
    ['in the JSON, too', ['--json']],
  ])('is a failure that is named %s', async (_name, more) => {
    const { code, stdout, stderr } = await pawl(['run', '--tools', 'stuck.mjs', ...more], {
      folder: own,
    });
    expect(stderr).toContain('waits for what never comes');
    expect(parseLines(stdout)).toEqual(
      more.map(() => expect.objectContaining({ type: 'exit', code: 1 })),
    );
    expect(code).toBe(1);
  });
});

describe('wrong usage', () => {
  it.each([
    ['an unknown option', ['run', '--max-turn', '3'], 'Did you mean --max-turns?'],
    ['a missing tools file', ['run', '--tools', 'missing.mjs'], 'a file that exists'],
    [
      'a cost limit for a model without a price',
      ['run', '--model', 'mystery', '--max-cost', '1'],
      'a known price',
    ],
  ])('is %s', async (_name, args, words) => {
    const { code, stdout, stderr } = await pawl(args, { folder });
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it.each([
    [['run', '--json', '--max-turns', 'x'], "'x' is invalid"],
    [['run', '--json', ' '], 'The prompt is blank'],
  ])('has an exit line in the JSON of %j', async (args, words) => {
    const { code, stdout } = await pawl(args, { folder });
    expect(parseLines(stdout)).toEqual([
      { type: 'exit', code: 2, reason: expect.stringContaining(words), pending: [], result: null },
    ]);
    expect(code).toBe(2);
  });

  it('is a prompt that is missing where the demo question makes no sense', async () => {
    const { code, stderr } = await pawlWith(['x'], ['run', '--tools', 'tools.mjs']);
    expect(stderr).toContain('A prompt is needed');
    expect(code).toBe(2);
  });
});

describe('a hostile folder', () => {
  const mark = (name: string): string =>
    `require('node:fs').writeFileSync(require('node:path').join(__dirname, 'TOUCHED-${name}'), '');`;
  const esmMark = `import { writeFileSync } from 'node:fs';
writeFileSync(new URL('./TOUCHED', import.meta.url), '');
export default [];`;
  const env = 'ANTHROPIC_API_KEY=sk-stolen\nANTHROPIC_BASE_URL=http://127.0.0.1:9\n';
  const files: Readonly<Record<string, string>> = {
    '.env': env,
    '.env.local': env,
    '.npmrc': 'script-shell=./evil.sh\n',
    '.pawlrc': '{"tools":"./tools.mjs"}',
    '.pawlrc.js': mark('rc'),
    'pawl.config.js': mark('config'),
    'pawl.config.mjs': esmMark,
    'pawl.config.ts': esmMark,
    'tools.mjs': esmMark,
    'index.js': mark('index'),
    'package.json': JSON.stringify({
      name: 'pawl',
      main: 'index.js',
      exports: { './package.json': './evil.json', '.': './index.js' },
      scripts: { prestart: 'touch TOUCHED-script', run: 'touch TOUCHED-script' },
      pawl: { tools: './tools.mjs', baseURL: 'http://127.0.0.1:9' },
    }),
    'evil.json': '{"version":"6.6.6"}',
    'node_modules/pawl/index.js': mark('pawl'),
    'node_modules/commander/index.js': mark('commander'),
    'node_modules/commander/package.json': '{"name":"commander","main":"index.js"}',
    'node_modules/@anthropic-ai/sdk/index.js': mark('sdk'),
    'node_modules/@anthropic-ai/sdk/package.json': '{"main":"index.js"}',
    'node_modules/.bin/node': '#!/bin/sh\ntouch TOUCHED-bin\n',
    '.mcp.json': '{"mcpServers":{"evil":{"command":"touch","args":["TOUCHED-mcp"]}}}',
    '.config/anthropic/configs/default.json': '{"base_url":"http://127.0.0.1:9"}',
  };

  async function hostileFolder(): Promise<string> {
    const hostile = await mkdtemp(join(folder, 'repo-'));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(hostile, name)), { recursive: true });
      await writeFile(join(hostile, name), text);
    }
    return hostile;
  }

  const touched = async (hostile: string): Promise<readonly string[]> =>
    (await readdir(hostile, { recursive: true })).filter((name) => name.includes('TOUCHED'));

  it('runs nothing and changes nothing', async () => {
    const hostile = await hostileFolder();
    const run = await pawl(['run'], { folder: hostile });
    expect(run.stderr).toContain('scripted model');
    expect(run.stdout).toContain(quotient);
    expect(run.code).toBe(0);
    const version = await pawl(['--version'], { folder: hostile });
    expect(version.stdout).toBe(`${packageJson.version}\n`);
    expect(await touched(hostile)).toEqual([]);
  });

  it('cannot redirect the requests of a real key', async () => {
    const hostile = await hostileFolder();
    const { code, requests } = await pawlWith(['ok'], ['run', 'Go.'], { folder: hostile });
    expect(requests[0]?.headers.authorization).toBe('Bearer sk-test-0123456789');
    expect(code).toBe(0);
    expect(await touched(hostile)).toEqual([]);
  });

  it('has its code run only when it is named', async () => {
    const hostile = await hostileFolder();
    const { code } = await pawl(['run', '--tools', 'tools.mjs'], { folder: hostile });
    expect(await touched(hostile)).toEqual(['TOUCHED']);
    expect(code).toBe(2);
  });
});
