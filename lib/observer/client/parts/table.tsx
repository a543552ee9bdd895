// A table: sorted by its heads, copied as text, moved in by keys, and of more than a hundred rows only those that are seen are in the
// document.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { countText, plural, visible } from "../model/format.js";
import {
  type CellValue,
  formatSort,
  nextSort,
  parseSort,
  rowsText,
  type Sort,
  sortRows,
  stepRow,
  type TextColumn,
} from "../model/table.js";
import { type Seen, scrollTo, WHOLE_ROWS, windowOf } from "../model/window.js";
import { copyText, later } from "../shell/browser.js";
import { type KeyTarget, preferKeys, takeKeys } from "../shell/keyboard.js";
import { useRoute } from "../shell/router.js";
import { Scroll } from "./scroll.js";

export interface Column<Row> extends TextColumn<Row> {
  /** What the column holds: it is sorted by, and copied. A number or a text. */
  value(row: Row): CellValue;
  /** How it looks. Default: the value as text. */
  cell?(row: Row): ComponentChildren;
  /** Figures stand on the right. */
  readonly align?: "end";
  /** Left out where the window is narrow. */
  readonly isWide?: boolean;
  /** What the column says, as a tooltip of its head. */
  readonly help?: string;
}

export interface TableProps<Row> {
  /** What the table lists. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  keyOf(row: Row): string | number;
  /** Where a row leads. Its first cell is the link. */
  linkOf?(row: Row): string | undefined;
  /** What is shown when there are no rows. */
  readonly empty?: ComponentChildren;
  /** The order at first. Default: that of the rows. */
  readonly sort?: string;
  /** The parameter of the address with the order. Tables of one page need different ones. */
  readonly param?: string;
  /** How many there are in all, when the rows are not all of them. */
  readonly total?: number | undefined;
}

/** Pixels of a row; the style sheet says the same. */
const ROW_HEIGHT = 36;
const HEAD_HEIGHT = 36;

export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { label, columns, rows, keyOf, linkOf, empty, total } = props;
  const { sort, setSort } = useSort(props);
  const sorted = useMemo(() => sortRows(rows, columns, sort), [rows, columns, sort?.by, sort?.isDescending]);
  const scroller = useRef<HTMLElement>(null);
  const seen = useSeen(scroller);
  const [at, setAt] = useKeys({ scroller, sorted, columns, keyOf });
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const shown = windowOf(sorted.length, seen);
  const isVirtual = sorted.length > WHOLE_ROWS;
  return (
    <div class="table">
      <div class="table-bar">
        <span class="table-count">{rowsShown(sorted.length, total)}</span>
        <Copy text={() => rowsText(columns, sorted)} />
      </div>
      <Scroll label={label} kind={isVirtual ? "table-scroll virtual" : "table-scroll"} area={scroller}>
        <table aria-rowcount={isVirtual ? sorted.length + 1 : undefined}>
          <caption class="off-screen">{label}</caption>
          <Heads columns={columns} rows={rows} sort={sort} setSort={setSort} />
          <tbody>
            <Gap height={shown.above} columns={columns.length} />
            {sorted.slice(shown.first, shown.end).map((row, n) => (
              <TableRow
                key={keyOf(row)}
                row={row}
                columns={columns}
                href={linkOf?.(row)}
                place={shown.first + n}
                isAt={at === keyOf(row)}
                onFocus={() => setAt(keyOf(row))}
              />
            ))}
            <Gap height={shown.below} columns={columns.length} />
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

const rowsShown = (count: number, total: number | undefined): string =>
  total !== undefined && total > count ? `${countText(count)} of ${countText(total)}` : plural(count, "row");

function useSort<Row>({ param = "sort", sort: first }: TableProps<Row>): {
  readonly sort: Sort | undefined;
  setSort(sort: Sort | undefined): void;
} {
  const { params, set } = useRoute();
  // An order that was switched off is an address of its own, or the first one would come back.
  const text = params[param] ?? first;
  return {
    sort: text === "none" ? undefined : parseSort(text),
    setSort: (sort) => {
      const next = sort === undefined ? "none" : formatSort(sort);
      set({ [param]: next === (first ?? "none") ? undefined : next });
    },
  };
}

/** What is seen of the rows, as it is scrolled. */
function useSeen(scroller: { readonly current: HTMLElement | null }): Seen {
  const [seen, setSeen] = useState<Seen>({ scrollTop: 0, height: 600, rowHeight: ROW_HEIGHT });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const look = (): void => {
      const { scrollTop, clientHeight } = element;
      // A pixel more or less shows the same rows.
      const top = Math.floor(scrollTop / ROW_HEIGHT) * ROW_HEIGHT;
      setSeen((before) =>
        before.scrollTop === top && before.height === clientHeight
          ? before
          : { scrollTop: top, height: clientHeight, rowHeight: ROW_HEIGHT },
      );
    };
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller.current === null]);
  return seen;
}

interface KeyedRows<Row> {
  readonly scroller: { readonly current: HTMLElement | null };
  readonly sorted: readonly Row[];
  readonly columns: readonly Column<Row>[];
  keyOf(row: Row): string | number;
}

/** The row that the keys are at. It is known by its key, so that it stays the same one when the order changes. */
function useKeys<Row>(
  now: KeyedRows<Row>,
): [string | number | undefined, (at: string | number | undefined) => void] {
  const [at, setAt] = useState<string | number>();
  // Keys may come faster than the page is drawn.
  const latest = useRef({ ...now, at, callOff: (): void => undefined });
  latest.current = { ...latest.current, ...now };
  const target = useRef<KeyTarget | undefined>(undefined);
  useEffect(() => {
    const own: KeyTarget = {
      step: (by) => {
        const { sorted, keyOf, scroller, at } = latest.current;
        const place = sorted.findIndex((row) => keyOf(row) === at);
        const next = stepRow(place < 0 ? undefined : place, by, sorted.length);
        if (next === undefined || scroller.current === null) return;
        latest.current.at = keyOf(sorted[next] as Row);
        setAt(latest.current.at);
        latest.current.callOff();
        latest.current.callOff = focusRow(scroller.current, next);
      },
      copy: () => void copyText(rowsText(latest.current.columns, latest.current.sorted)),
    };
    target.current = own;
    return takeKeys(own);
  }, []);
  return [
    at,
    (next) => {
      if (target.current !== undefined) preferKeys(target.current);
      latest.current.at = next;
      setAt(next);
    },
  ];
}

/** Scrolls to a row and focuses its link, or the row itself. @returns what calls the focus off */
function focusRow(scroller: HTMLElement, place: number): () => void {
  const top = scrollTo(
    place,
    { scrollTop: scroller.scrollTop, height: scroller.clientHeight, rowHeight: ROW_HEIGHT },
    HEAD_HEIGHT,
  );
  if (top !== undefined) scroller.scrollTop = top;
  // The row comes into the document when what is scrolled to has been drawn.
  return later(0, () => {
    const row = scroller.querySelector<HTMLElement>(`tr[data-place="${place}"]`);
    const link = row?.querySelector<HTMLElement>("a");
    (link ?? row)?.focus();
    (link ?? row)?.scrollIntoView({ block: "nearest" });
  });
}

interface HeadsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly sort: Sort | undefined;
  setSort(sort: Sort | undefined): void;
}

function Heads<Row>({ columns, rows, sort, setSort }: HeadsProps<Row>): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const isBy = sort?.by === column.title;
          const order = isBy ? (sort.isDescending ? "descending" : "ascending") : undefined;
          const isNumber = (): boolean => rows.some((row) => typeof column.value(row) === "number");
          return (
            <th key={column.title} scope="col" class={classOf(column)} aria-sort={order}>
              <button
                type="button"
                title={column.help}
                onClick={() => setSort(nextSort(sort, column.title, isNumber()))}
              >
                {column.title}
                <span class="order" aria-hidden="true">
                  {order === undefined ? "" : order === "ascending" ? " ▲" : " ▼"}
                </span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

const classOf = ({ align, isWide }: Pick<Column<never>, "align" | "isWide">): string | undefined =>
  [align, isWide === true ? "wide" : ""].filter((name) => name !== undefined && name !== "").join(" ") ||
  undefined;

interface RowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly href: string | undefined;
  readonly place: number;
  readonly isAt: boolean;
  onFocus(): void;
}

function TableRow<Row>({ row, columns, href, place, isAt, onFocus }: RowProps<Row>): JSX.Element {
  return (
    <tr
      data-place={place}
      aria-rowindex={place + 2}
      tabIndex={-1}
      class={isAt ? "at" : undefined}
      onFocusCapture={onFocus}
    >
      {columns.map((column, n) => {
        const content =
          column.cell === undefined ? visible(String(column.value(row) ?? "–")) : column.cell(row);
        return (
          <td key={column.title} class={classOf(column)}>
            {n === 0 && href !== undefined ? <a href={href}>{content}</a> : content}
          </td>
        );
      })}
    </tr>
  );
}

/** Room for the rows that are not in the document. */
function Gap({ height, columns }: { readonly height: number; readonly columns: number }): JSX.Element | null {
  if (height === 0) return null;
  return (
    <tr class="gap" style={{ height: `${height}px` }}>
      <td class="gap" colSpan={columns} />
    </tr>
  );
}

/** Copies a text, and says so for a moment. */
export function Copy({ text, label = "Copy" }: { text(): string; readonly label?: string }): JSX.Element {
  const [said, setSaid] = useState<string>();
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text())) ? "Copied" : "Not copied");
    later(1_500, () => setSaid(undefined));
  };
  return (
    <button type="button" class="button small" onClick={() => void copy()} title="Copy as text (c)">
      <span role="status">{said ?? label}</span>
    </button>
  );
}
