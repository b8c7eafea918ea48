/** Bytes of `value` in UTF-8. A lone surrogate counts as the three bytes of its replacement. */
export function utf8Length(value: string): number {
  let length = 0;
  for (let index = 0; index < value.length; index += 1) {
    const unit = value.charCodeAt(index);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (isPair(unit, value.charCodeAt(index + 1))) {
      length += 4;
      index += 1;
    } else length += 3;
  }
  return length;
}

const isPair = (high: number, low: number): boolean =>
  high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;
