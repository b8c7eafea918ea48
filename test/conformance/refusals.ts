/** What Pawl refused to do for somebody in a case. */
import type { PawlError } from 'pawl';
import type { Action } from './load-case.ts';
import { toCaseCode } from './mapping.ts';
import type { Seat, Stage } from './stage.ts';

const opening = new Set(['start', 'send', 'resume']);
const steering = new Set(['steer', 'notify']);

/** It is a failure unless the case reckons with it. Of several workers, all but one are refused. */
export function noteRefusal(
  stage: Stage,
  seat: Seat,
  { do: name, mayFail = false }: Action,
  refusal: PawlError,
): void {
  const code = toCaseCode(refusal.code);
  seat.errors.push({ do: name, code });
  stage.said.push(refusal.message);
  if (opening.has(name)) seat.refusal = refusal;
  if (steering.has(name)) stage.isSteerRejected = true;
  const looksAt = JSON.stringify(stage.kase.expect);
  const isExpected =
    mayFail ||
    seat.isWorker ||
    looksAt.includes('"actionErrors"') ||
    (opening.has(name) && looksAt.includes('"rejected"')) ||
    (steering.has(name) && looksAt.includes('"steerRejected"'));
  if (!isExpected) stage.failures.push(`${name} was refused: ${code}: ${refusal.message}`);
}
