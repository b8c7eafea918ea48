import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject } from '../core/json.ts';
import { requestProblems } from './request-rules.ts';
import {
  checkScript,
  readStreamEvents,
  type Script,
  type ScriptedError,
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedStream,
  type SentMessage,
  toStreamEvents,
  toTokens,
  toWireMessage,
  type WireRequest,
} from './script.ts';

/** A Messages API on the loopback interface that plays a script. */
export interface ScriptedServer {
  /** For the client's `baseURL`: `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** The calls the script answered, in order of arrival. */
  readonly requests: readonly ScriptedRequest[];
  /** The calls that got a 400 (or 413) and used up no reply. `body` is undefined when unreadable. */
  readonly rejected: readonly RejectedRequest[];
  /** Stops listening and destroys every open socket. Safe to call twice. */
  close(): Promise<void>;
}

export interface RejectedRequest {
  readonly problems: readonly string[];
  readonly body: unknown;
}

interface Session {
  readonly script: Script;
  readonly requests: ScriptedRequest[];
  readonly rejected: RejectedRequest[];
  readonly sent: SentMessage[];
  readonly toolUseIds: Set<string>;
}

const maxRequestBytes = 32 * 1024 * 1024;

/**
 * Starts a server that answers POST /v1/messages from the script, as JSON or as a stream, whichever
 * the call asks for; and /v1/messages/count_tokens with a quarter of the request's bytes.
 *
 * A call that breaks a rule of the API, and a call beyond the end of the script, get a 400 that
 * says why.
 * @throws PawlError `invalid_input`
 */
export async function startScriptedServer(script: Script): Promise<ScriptedServer> {
  checkScript(script);
  const session: Session = { script, requests: [], rejected: [], sent: [], toolUseIds: new Set() };
  const server = createServer((request, response) => {
    handle(session, request, response).catch((error) => {
      // Either the client hung up while it was read, or the reply is no JSON and nothing was sent.
      if (request.complete) sendError(response, scriptFault(String(error)).error);
      else response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: session.requests,
    rejected: session.rejected,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(session: Session, request: IncomingMessage, response: ServerResponse) {
  const bytes = await readBytes(request);
  const path = request.url?.split('?')[0];
  if (request.method === 'POST' && path === '/v1/messages') {
    await answerCall(session, request, bytes, response);
  } else if (request.method === 'POST' && path === '/v1/messages/count_tokens') {
    sendJson(response, 200, { input_tokens: toTokens(bytes.length) });
  } else {
    sendError(response, { status: 404, type: 'not_found_error', message: 'Not found' });
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function answerCall(
  session: Session,
  { headers }: IncomingMessage,
  bytes: Buffer,
  response: ServerResponse,
) {
  if (bytes.length > maxRequestBytes) {
    return reject(session, response, undefined, ['the body is larger than 32 MB'], 413);
  }
  const body = parseJson(bytes);
  const number = session.requests.length + 1;
  const problems = [
    ...requestProblems(body, session.sent),
    ...scriptProblems(session.script, number),
  ];
  if (problems.length > 0) return reject(session, response, body, problems, 400);
  // The rules above are what makes the body a request.
  const request = { number, body: body as WireRequest, headers };
  session.requests.push(request);
  const reply = await replyTo(session.script, request);
  play(session, request, bytes.length, reply, response);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function scriptProblems(script: Script, number: number): readonly string[] {
  if (typeof script === 'function' || number <= script.length) return [];
  return [`unscripted call: this is call ${number}, and the script has ${script.length} replies`];
}

async function replyTo(script: Script, request: ScriptedRequest): Promise<ScriptedReply> {
  try {
    const reply = typeof script === 'function' ? await script(request) : script[request.number - 1];
    return reply ?? scriptFault(`unscripted call: call ${request.number} has no reply`);
  } catch (error) {
    return scriptFault(`the script failed at call ${request.number}: ${String(error)}`);
  }
}

function scriptFault(message: string): ScriptedError {
  return { error: { status: 400, type: 'invalid_request_error', message } };
}

function play(
  session: Session,
  { number, body }: ScriptedRequest,
  requestBytes: number,
  reply: ScriptedReply,
  response: ServerResponse,
): void {
  if (typeof reply !== 'string' && 'error' in reply) {
    sendError(response, reply.error);
  } else if (typeof reply !== 'string' && 'stream' in reply) {
    remember(session, { ...readStreamEvents(takeSent(reply.stream)), model: body.model });
    if (body.stream === true) sendEvents(response, reply.stream);
    else sendNoMessage(response, reply);
  } else {
    const call = { number, model: body.model, requestBytes, usedToolUseIds: session.toolUseIds };
    const message = toWireMessage(reply, call);
    remember(session, message);
    if (body.stream === true) sendEvents(response, toStreamEvents(message));
    else sendJson(response, 200, message);
  }
}

function remember(session: Session, message: SentMessage): void {
  session.sent.push(message);
  for (const block of message.content) {
    const isToolUse = isJsonObject(block) && block.type === 'tool_use';
    if (isToolUse && typeof block.id === 'string') session.toolUseIds.add(block.id);
  }
}

/** Nothing is sent before the first event, so a script that opens with `$reset` is a dead server. */
function sendEvents(response: ServerResponse, events: readonly unknown[]): void {
  const end = events.find(isBreak);
  const frames = takeSent(events).map(toFrame).join('');
  const isReset = hasMark(end, '$reset');
  if (isReset && frames === '') {
    response.destroy();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  if (end === undefined) response.end(frames);
  else response.write(frames, () => isReset && response.destroy());
}

/** A call that asked for JSON can still be left hanging or cut off. */
function sendNoMessage(response: ServerResponse, { stream }: ScriptedStream): void {
  const end = stream.find(isBreak);
  if (hasMark(end, '$reset')) response.destroy();
  if (end !== undefined) return;
  const message = 'the script has a stream for this call, which did not ask for one';
  sendError(response, scriptFault(message).error);
}

function takeSent(events: readonly unknown[]): readonly unknown[] {
  const breakAt = events.findIndex(isBreak);
  return breakAt < 0 ? events : events.slice(0, breakAt);
}

function isBreak(event: unknown): boolean {
  return hasMark(event, '$hang') || hasMark(event, '$reset');
}

function hasMark(event: unknown, mark: string): boolean {
  return isJsonObject(event) && event[mark] === true;
}

function toFrame(event: unknown): string {
  const type = isJsonObject(event) && typeof event.type === 'string' ? event.type : undefined;
  const name = type === undefined ? '' : `event: ${type}\n`;
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

function reject(
  session: Session,
  response: ServerResponse,
  body: unknown,
  problems: readonly string[],
  status: 400 | 413,
): void {
  session.rejected.push({ problems, body });
  const type = status === 413 ? 'request_too_large' : 'invalid_request_error';
  sendError(response, { status, type, message: problems.join('; ') });
}

function sendError(response: ServerResponse, error: ScriptedError['error']): void {
  const { status, type, message, headers } = error;
  sendJson(
    response,
    status,
    { type: 'error', error: { type, message }, request_id: null },
    headers,
  );
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  const json = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(json);
}
