// Which rows a list has, and in which order they are found. Pure: the store is asked by store-operations.ts.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, text } from "../../process/options.js";
import type { Scan } from "../../store/index.js";
import type { FlowRow } from "../journal/tables.js";
import { FLOW_STATUSES, type FlowFilter, type FlowListOptions, type FlowStatus } from "./operations.js";

/** The limits of a list. */
export const LIST_LIMITS: {
  /** Flows of a page unless the caller says otherwise. */
  readonly page: number;
  readonly maxPage: number;
  /** Most rows that are looked at for one page. */
  readonly examined: number;
} = { page: 100, maxPage: 1_000, examined: 10_000 };

/** A list, checked. */
export interface FlowQuery {
  readonly filter: FlowFilter;
  readonly statuses: readonly FlowStatus[] | undefined;
  readonly reverse: boolean;
  readonly limit: number;
  /** The number, or with `idPrefix` the id, of the last flow of the page before. */
  readonly after: string | number | undefined;
}

const FILTERS = [
  ...["status", "name", "version", "idPrefix", "queue", "parent"],
  ...["createdFrom", "createdBelow", "updatedFrom", "updatedBelow"],
];

/** @throws OptionError */
export function checkList(options: FlowListOptions): FlowQuery {
  only("", options, [...FILTERS, "order", "limit", "cursor"]);
  const { order = "newest", limit = LIST_LIMITS.page, cursor, ...filter } = options;
  oneOf("order", order, ["newest", "oldest"]);
  if (count("limit", limit, 1) > LIST_LIMITS.maxPage)
    throw new OptionError("limit", limit, `at most ${LIST_LIMITS.maxPage}; take several pages`);
  for (const name of ["name", "idPrefix", "queue", "parent"] as const)
    if (filter[name] !== undefined) text(name, filter[name]);
  if (filter.version !== undefined) count("version", filter.version, 1);
  for (const name of ["createdFrom", "createdBelow", "updatedFrom", "updatedBelow"] as const) {
    const moment: unknown = filter[name];
    if (moment !== undefined && (typeof moment !== "number" || Number.isNaN(moment)))
      throw new OptionError(name, moment, "milliseconds since 1970");
  }
  const statuses = checkStatuses("status", filter.status);
  const after = cursor === undefined ? undefined : readCursor(cursor, filter.idPrefix);
  return { filter, statuses, reverse: order === "newest", limit, after };
}

/** One or several statuses, as a list. @throws OptionError */
export function checkStatuses(
  path: string,
  given: FlowStatus | readonly FlowStatus[] | undefined,
  known: readonly FlowStatus[] = FLOW_STATUSES,
): readonly FlowStatus[] | undefined {
  if (given === undefined) return undefined;
  const all = Array.isArray(given) ? given : [given];
  return [...new Set(all.map((one: unknown) => oneOf(path, one, known)))];
}

function readCursor(cursor: string, idPrefix: string | undefined): string | number {
  const allowed = "the `next` of a page of the same list";
  if (typeof cursor !== "string") throw new OptionError("cursor", cursor, allowed);
  if (idPrefix !== undefined) {
    if (cursor.startsWith("id:")) return cursor.slice(3);
  } else if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new OptionError("cursor", cursor, allowed);
}

/** Names the place behind a row: its number, or its id. */
export function cursorAt(query: FlowQuery, place: string | number): string {
  return query.filter.idPrefix === undefined ? String(place) : `id:${place}`;
}

/**
 * The scans that find the rows of a page: each is in the order of the list, and the page is the beginning of all of them together.
 *
 * @param after - the place behind which the page begins
 * @param parent - the number of the parent that the filter names
 */
export function scansOf(
  query: FlowQuery,
  after: string | number | undefined,
  parent: number | undefined,
): Scan[] {
  const { filter, statuses, reverse } = query;
  if (filter.idPrefix !== undefined) {
    const { idPrefix } = filter;
    return [after === undefined ? { index: "id", from: idPrefix } : { index: "id", after }];
  }
  const bounds: Scan =
    after === undefined ? { reverse } : reverse ? { reverse, below: after } : { reverse, after };
  if (parent !== undefined) return [{ ...bounds, index: "parent", prefix: [parent] }];
  const { name } = filter;
  if (name !== undefined)
    return (statuses ?? FLOW_STATUSES).map((status) => ({
      ...bounds,
      index: "name",
      prefix: [name, status],
    }));
  if (statuses !== undefined)
    return statuses.map((status) => ({ ...bounds, index: "status", prefix: [status] }));
  return [bounds];
}

/** Whether a row is part of the list. */
export function matches({ filter, statuses }: FlowQuery, row: FlowRow, parent: number | undefined): boolean {
  const { name, version, idPrefix, queue, createdFrom, createdBelow, updatedFrom, updatedBelow } = filter;
  return (
    (statuses === undefined || statuses.includes(row.status as FlowStatus)) &&
    (name === undefined || row.name === name) &&
    (version === undefined || row.version === version) &&
    (idPrefix === undefined || row.id.startsWith(idPrefix)) &&
    (queue === undefined || row.queue === queue) &&
    (parent === undefined || row.parent === parent) &&
    (createdFrom === undefined || row.created >= createdFrom) &&
    (createdBelow === undefined || row.created < createdBelow) &&
    (updatedFrom === undefined || row.updated >= updatedFrom) &&
    (updatedBelow === undefined || row.updated < updatedBelow)
  );
}

/** Whether no row behind this one can be part of the list. */
export function isPast({ filter }: FlowQuery, row: FlowRow): boolean {
  return filter.idPrefix !== undefined && !row.id.startsWith(filter.idPrefix);
}
