/** SVG paths of the lines between states. */
import type { Point } from './layout.ts';
import { round } from './xml.ts';

const cornerRadius = 7;
const headLength = 7;
const headHalfWidth = 3.5;

/** A line through the points whose corners are rounded. */
export function roundedPath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const steps = rest.map((point, index) => {
    const before = points[index] ?? first;
    const after = points[index + 2];
    return after === undefined ? `L${write(point)}` : corner(before, point, after);
  });
  return [`M${write(first)}`, ...steps].join('');
}

/** A filled triangle whose tip is the last point. */
export function arrowHead(points: readonly Point[]): string {
  const tip = points.at(-1);
  const from = points.at(-2);
  if (tip === undefined || from === undefined) return '';
  const base = towards(tip, from, headLength);
  const across = { x: (tip.y - base.y) / headLength, y: (base.x - tip.x) / headLength };
  const wing = (side: number) =>
    write({
      x: base.x + side * across.x * headHalfWidth,
      y: base.y + side * across.y * headHalfWidth,
    });
  return `M${write(tip)}L${wing(1)}L${wing(-1)}Z`;
}

function corner(before: Point, point: Point, after: Point): string {
  const shortest = Math.min(distance(before, point), distance(point, after));
  const radius = Math.min(cornerRadius, shortest / 2);
  return `L${write(towards(point, before, radius))}Q${write(point)} ${write(towards(point, after, radius))}`;
}

function towards(from: Point, to: Point, length: number): Point {
  const whole = distance(from, to) || 1;
  return {
    x: from.x + ((to.x - from.x) * length) / whole,
    y: from.y + ((to.y - from.y) * length) / whole,
  };
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}

function write({ x, y }: Point): string {
  return `${round(x)} ${round(y)}`;
}
