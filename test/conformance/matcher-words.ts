import { isObject } from './load-case.ts';
import type { Shape } from './shape.ts';

const operators = new Set([
  ...[
    '$note',
    '$any',
    '$absent',
    '$type',
    '$nonEmpty',
    '$contains',
    '$notContains',
    '$re',
    '$flags',
  ],
  ...['$exact', '$oneOf', '$allOf', '$not', '$gte', '$lte', '$near', '$len', '$first', '$last'],
  ...['$some', '$none', '$every', '$subset'],
]);

/** An expected value: plain, or with operators. What `$exact` holds is taken literally. */
export const matcher: Shape = (value, path, report) => {
  if (Array.isArray(value)) {
    value.forEach((entry, index) => void matcher(entry, `${path}[${index}]`, report));
  } else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      if (name.startsWith('$') && !operators.has(name)) {
        report(`${path}: unknown matcher ${JSON.stringify(name)}`);
      } else if (name !== '$exact') matcher(inner, `${path}.${name}`, report);
    }
  }
};
