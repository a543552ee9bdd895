// A table without its looks: the order of its rows, its text for the clipboard, and which row the keys are at.

/** What a cell holds: it is compared and copied. */
export type CellValue = string | number | boolean | undefined | null;

export interface TextColumn<Row> {
  readonly title: string;
  value(row: Row): CellValue;
}

/** An order of rows, by the title of a column. */
export interface Sort {
  readonly by: string;
  readonly isDescending: boolean;
}

/** The order as a parameter of the address: `-mailbox`. */
export const formatSort = ({ by, isDescending }: Sort): string => (isDescending ? `-${by}` : by);

export function parseSort(text: string | undefined): Sort | undefined {
  if (text === undefined || text === "") return undefined;
  return text.startsWith("-") ? { by: text.slice(1), isDescending: true } : { by: text, isDescending: false };
}

/** The order after a click on the head of a column: numbers begin with the largest, texts with the first; the third click ends it. */
export function nextSort(sort: Sort | undefined, by: string, isNumber: boolean): Sort | undefined {
  if (sort?.by !== by) return { by, isDescending: isNumber };
  return sort.isDescending === isNumber ? { by, isDescending: !isNumber } : undefined;
}

const collator: Intl.Collator = new Intl.Collator("en", { numeric: true });

/** Rows in an order. Rows that are alike keep theirs, and empty cells come last in both directions. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly TextColumn<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const column = columns.find(({ title }) => title === sort?.by);
  if (sort === undefined || column === undefined) return rows;
  const sign = sort.isDescending ? -1 : 1;
  const isEmpty = (value: CellValue): boolean => value === undefined || value === null || value === "";
  return rows
    .map((row) => ({ row, value: column.value(row) }))
    .sort((a, b) => {
      if (isEmpty(a.value) || isEmpty(b.value)) return Number(isEmpty(a.value)) - Number(isEmpty(b.value));
      return sign * compared(a.value, b.value);
    })
    .map(({ row }) => row);
}

function compared(a: CellValue, b: CellValue): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

/** Rows as lines of cells with tabs between them, for a spreadsheet or a chat. */
export function rowsText<Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => cellText(column.value(row)))),
  ];
  return `${lines.map((cells) => cells.join("\t")).join("\n")}\n`;
}

function cellText(value: CellValue): string {
  if (typeof value === "number") return String(value);
  const text = String(value ?? "")
    .replace(/\s+/g, " ")
    .trim();
  // A spreadsheet would run a text that begins so as a formula, and a label may come from anywhere.
  return /^[=+\-@]/.test(text) ? `'${text}` : text;
}

/** The row that a step leads to. The first step leads to the first row, or from below to the last. */
export function stepRow(at: number | undefined, by: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (at === undefined) return by > 0 ? 0 : count - 1;
  return Math.max(0, Math.min(count - 1, at + by));
}
