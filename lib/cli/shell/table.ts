// Tables of text for people, aligned, and no wider than their terminal.

import { oneLine } from "../../process/printable.js";
import { count } from "./style.js";

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  cell(row: Row): string;
  /** Gives way, the last of them first, when the table is too wide. */
  readonly shrinks?: boolean;
  readonly align?: "left" | "right";
  paint?(text: string, row: Row): string;
}

/** A column that gives way when the table is too wide. */
export function column<Row>(
  title: string,
  cell: (row: Row) => string | undefined,
  paint?: (text: string) => string,
): Column<Row> {
  return { title, cell: (row) => cell(row) ?? "", shrinks: true, ...(paint && { paint }) };
}

/** A column of numbers. Zero is left out, unless `text` writes it. */
export function figure<Row>(
  title: string,
  cell: (row: Row) => number,
  text: (n: number) => string = some,
  paint?: (text: string) => string,
): Column<Row> {
  return { title, cell: (row) => text(cell(row)), align: "right", ...(paint && { paint }) };
}

/** A number, and nothing for zero. */
export const some = (n: number): string => (n === 0 ? "" : count(n));

const GAP = "  ";
/** No column becomes narrower. */
const LEAST = 8;

/**
 * A table with a line of titles. Columns that are empty in all rows are left out.
 *
 * @param width - of the terminal; undefined: nothing is cut
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number | undefined,
): string {
  const cells = columns.map((column) => rows.map((row) => oneLine(column.cell(row))));
  const shown = columns.flatMap((column, i) => {
    const texts = cells[i] as string[];
    return texts.some((text) => text !== "") ? [{ column, texts }] : [];
  });
  const widths = widthsIn(
    shown.map(({ column, texts }) => ({
      width: Math.max(length(column.title), ...texts.map(length)),
      shrinks: column.shrinks === true,
    })),
    width,
  );
  const line = (at: (i: number) => string): string =>
    shown
      .map((_, i) => at(i))
      .join(GAP)
      .trimEnd();
  const titles = line((i) =>
    padded(shown[i]?.column.title ?? "", widths[i] as number, shown[i]?.column.align),
  );
  const body = rows.map((row, r) =>
    line((i) => {
      const { column, texts } = shown[i] as (typeof shown)[number];
      const text = padded(texts[r] as string, widths[i] as number, column.align);
      return column.paint?.(text, row) ?? text;
    }),
  );
  return [titles, ...body].join("\n");
}

function widthsIn(
  wanted: readonly { readonly width: number; readonly shrinks: boolean }[],
  width: number | undefined,
): number[] {
  const widths = wanted.map((one) => one.width);
  if (width === undefined) return widths;
  let over = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1) - width;
  for (let i = wanted.length - 1; i >= 0 && over > 0; i--) {
    if (!wanted[i]?.shrinks) continue;
    const cut = Math.min(over, Math.max(0, (widths[i] as number) - LEAST));
    widths[i] = (widths[i] as number) - cut;
    over -= cut;
  }
  return widths;
}

/** The characters of a text, as people see them. */
const length = (text: string): number => [...text].length;

function padded(text: string, width: number, align: "left" | "right" = "left"): string {
  const letters = [...text];
  if (letters.length > width) return `${letters.slice(0, Math.max(0, width - 1)).join("")}…`;
  const space = " ".repeat(width - letters.length);
  return align === "right" ? space + text : text + space;
}
