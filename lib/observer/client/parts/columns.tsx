// Columns that many tables have.

import type { Unit } from "../model/format.js";
import { Num, Time } from "./figures.js";
import type { Column } from "./table.js";

type More<Row> = Partial<Column<Row>>;

/** A time, as a distance or as the clock shows it. */
export function timeColumn<Row>(
  title: string,
  of: (row: Row) => number | undefined | null,
  more?: More<Row>,
): Column<Row> {
  const cell = (row: Row) => {
    const at = of(row);
    return at === undefined || at === null ? "–" : <Time at={at} />;
  };
  return { title, value: of, cell, align: "end", ...more };
}

export interface FigureMore<Row> extends More<Row> {
  readonly unit?: Unit;
  /** It is counted no further. */
  readonly atMost?: number;
}

/** A number. */
export function figureColumn<Row>(
  title: string,
  of: (row: Row) => number | undefined | null,
  { unit = "count", atMost, ...more }: FigureMore<Row> = {},
): Column<Row> {
  const cell = (row: Row) => <Num value={of(row)} unit={unit} atMost={atMost} />;
  return { title, value: of, cell, align: "end", ...more };
}
