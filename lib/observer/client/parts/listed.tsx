// The frame of what an operation answers: why the last look failed, that the first one is under way, and what there is to see. What was seen
// before stays beside a problem.

import type { ComponentChildren, JSX } from "preact";
import { type Answered, phaseOf } from "../model/look.js";
import { Empty, type EmptyProps, Loading, Problem } from "./empty.js";
import { Table, type TableProps } from "./table.js";

export interface LookedProps<T> {
  readonly of: Answered<T>;
  /** What is shown of the answer. */
  children(value: T): ComponentChildren;
}

export function Looked<T>({ of, children }: LookedProps<T>): JSX.Element {
  const phase = phaseOf(of);
  return (
    <>
      <Problem error={of.error} />
      {phase === "value" ? children(of.value as T) : phase === "looking" ? <Loading /> : null}
    </>
  );
}

export interface ListedProps<T, Row> extends Omit<TableProps<Row>, "rows" | "empty"> {
  readonly of: Answered<T>;
  rows(value: T): readonly Row[];
  /** What is said when there are no rows. */
  readonly empty: EmptyProps;
  /** What stands below the table. */
  below?(value: T): ComponentChildren;
}

/** A table of what an operation answers. */
export function Listed<T, Row>({ of, rows, empty, below, ...table }: ListedProps<T, Row>): JSX.Element {
  return (
    <Looked of={of}>
      {(value) => (
        <>
          <Table {...table} rows={rows(value)} empty={<Empty {...empty} />} />
          {below?.(value)}
        </>
      )}
    </Looked>
  );
}

/** A page of a list, as operations give it. */
export interface Items<Row> {
  readonly items: readonly Row[];
  readonly more: boolean;
}

/** The rows of a page of a list. */
export const itemsOf = <Row,>({ items }: Items<Row>): readonly Row[] => items;

/** The answer where there is nothing to ask for. */
export const NO_ITEMS: Answered<Items<never>> = { value: { items: [], more: false } };
