// Which rows a list of executions has, and in which order they are found. Pure.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, text } from "../../process/options.js";
import type { Scan } from "../../store/index.js";
import type { PageQuery } from "../../store/row-pages.js";
import type { ExecutionRow, ExecutionStatus } from "../ledger/tables.js";
import { EXECUTION_STATUSES, type ExecutionFilter, type ExecutionListOptions } from "./operations.js";

/** The limits of a list. */
export const EXECUTION_LIST_LIMITS: {
  /** Executions of a page unless the caller says otherwise. */
  readonly page: number;
  readonly maxPage: number;
  /** Most rows that are looked at for one page. */
  readonly examined: number;
} = { page: 100, maxPage: 1_000, examined: 10_000 };

const FILTERS = ["status", "pipeline", "idPrefix", "createdFrom", "createdBelow"];

/** A place in a list: the number of an execution, or its id where the list has the order of ids. */
type ListPosition = string | number;

/** @throws OptionError */
export function queryOf(options: ExecutionListOptions): PageQuery<ExecutionRow, ListPosition> {
  only("", options, [...FILTERS, "order", "limit", "cursor"]);
  const { order = "newest", limit = EXECUTION_LIST_LIMITS.page, cursor, ...filter } = options;
  oneOf("order", order, ["newest", "oldest"]);
  if (count("limit", limit, 1) > EXECUTION_LIST_LIMITS.maxPage)
    throw new OptionError("limit", limit, `at most ${EXECUTION_LIST_LIMITS.maxPage}; take several pages`);
  for (const name of ["pipeline", "idPrefix"] as const)
    if (filter[name] !== undefined) text(name, filter[name]);
  for (const name of ["createdFrom", "createdBelow"] as const) {
    const moment: unknown = filter[name];
    if (moment !== undefined && (typeof moment !== "number" || Number.isNaN(moment)))
      throw new OptionError(name, moment, "milliseconds since 1970");
  }
  const statuses = statusesOf(filter.status);
  const reverse = order === "newest";
  const { idPrefix } = filter;
  return {
    limit,
    examined: EXECUTION_LIST_LIMITS.examined,
    after: cursor === undefined ? undefined : placeOf(cursor, idPrefix !== undefined),
    scans: (after) => scansOf(filter, statuses, reverse, after),
    compare: (one, other) => (reverse ? other.number - one.number : one.number - other.number),
    matches: (row) => matches(filter, statuses, row),
    isPast: (row) => idPrefix !== undefined && !row.id.startsWith(idPrefix),
    placeOf: (row) => (idPrefix === undefined ? row.number : row.id),
  };
}

function statusesOf(given: ExecutionFilter["status"]): readonly ExecutionStatus[] | undefined {
  if (given === undefined) return undefined;
  const all = Array.isArray(given) ? given : [given];
  return [...new Set(all.map((one: unknown) => oneOf("status", one, EXECUTION_STATUSES)))];
}

/** Names a place in a list, for people. */
export function cursorOf(place: ListPosition): string {
  return typeof place === "number" ? String(place) : `id:${place}`;
}

function placeOf(cursor: unknown, byId: boolean): ListPosition {
  if (typeof cursor === "string") {
    if (byId && cursor.startsWith("id:")) return cursor.slice("id:".length);
    if (!byId && /^\d{1,15}$/.test(cursor)) return Number(cursor);
  }
  throw new OptionError("cursor", cursor, "the `next` of a page of the same list");
}

function scansOf(
  { idPrefix, pipeline }: ExecutionFilter,
  statuses: readonly ExecutionStatus[] | undefined,
  reverse: boolean,
  after: ListPosition | undefined,
): Scan[] {
  if (idPrefix !== undefined)
    return [after === undefined ? { index: "id", from: idPrefix } : { index: "id", after }];
  const bounds: Scan =
    after === undefined ? { reverse } : reverse ? { reverse, below: after } : { reverse, after };
  if (pipeline !== undefined) return [{ ...bounds, index: "pipeline", prefix: [pipeline] }];
  if (statuses === undefined) return [bounds];
  return statuses.map((status) => ({ ...bounds, index: "status", prefix: [status] }));
}

function matches(
  { pipeline, idPrefix, createdFrom, createdBelow }: ExecutionFilter,
  statuses: readonly ExecutionStatus[] | undefined,
  row: ExecutionRow,
): boolean {
  return (
    (statuses === undefined || statuses.includes(row.status as ExecutionStatus)) &&
    (pipeline === undefined || row.pipeline === pipeline) &&
    (idPrefix === undefined || row.id.startsWith(idPrefix)) &&
    (createdFrom === undefined || row.created >= createdFrom) &&
    (createdBelow === undefined || row.created < createdBelow)
  );
}
