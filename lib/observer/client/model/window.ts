// Which rows of a long list are in the document: those that are seen and a few beside them.

/** Lists of so many rows are in the document as a whole. Find in page and a screen reader then have all of it. */
export const WHOLE_ROWS = 100;
/** Rows above and below those that are seen, so that a turn of the wheel shows no gap. */
const BESIDE = 10;

export interface RowWindow {
  /** The first row in the document, and the one behind the last. */
  readonly first: number;
  readonly end: number;
  /** Heights of what is left out above and below. */
  readonly above: number;
  readonly below: number;
}

export interface Seen {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
}

export function windowOf(count: number, { scrollTop, height, rowHeight }: Seen): RowWindow {
  if (count <= WHOLE_ROWS) return { first: 0, end: count, above: 0, below: 0 };
  const seen = Math.ceil(height / rowHeight) + 1;
  // A list that has become shorter may still be scrolled behind its end.
  const top = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight), count - seen));
  const first = Math.max(0, top - BESIDE);
  const end = Math.min(count, top + seen + BESIDE);
  return { first, end, above: first * rowHeight, below: (count - end) * rowHeight };
}

/** Where to scroll so that a row is seen. Undefined: it is. @param head - height of what lies over the top of the rows */
export function scrollTo(row: number, { scrollTop, height, rowHeight }: Seen, head = 0): number | undefined {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  const bottom = top + rowHeight + head - height;
  return bottom > scrollTop ? bottom : undefined;
}
