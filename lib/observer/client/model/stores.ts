// Which store a view is about, where a program has several hosts of one kind. The address of a list says it, or means the first one; links of the
// page carry it. A page about one thing that was opened from elsewhere leaves it out: then the program finds the host that has the thing. Pure.

import { subjectOf } from "../../../admin/subject.js";
import type { Route } from "./route.js";

/** The stores of hosts, by the subject of their operations. */
export type KnownStores = Readonly<Record<string, readonly string[]>>;

/** What pages are about, if that is in a store. */
const SUBJECTS: Readonly<Record<string, string>> = {
  ...{ flows: "flows", flow: "flows", schedules: "flows", "flow-queues": "flows" },
  ...{ pipelines: "pipelines", pipeline: "pipelines", lineage: "pipelines" },
  queues: "queues",
};

/** The store that a page means for a subject. Undefined: whichever the program takes. */
export function storeMeant(subject: string, { page, params }: Route, known: KnownStores): string | undefined {
  const stores = known[subject] ?? [];
  if (SUBJECTS[page] !== subject) return undefined;
  // Where there is one store, a request names it only to learn that it is another one.
  if (params.store !== undefined)
    return stores.length === 0 || (stores.length === 1 && stores[0] === params.store)
      ? undefined
      : params.store;
  return stores.length > 1 && params.id === undefined ? stores[0] : undefined;
}

/** The arguments of an operation, with the store that the page means. */
export function addressed(
  op: string,
  args: Readonly<Record<string, unknown>>,
  route: Route,
  known: KnownStores,
): Readonly<Record<string, unknown>> {
  const store = args.store ?? storeMeant(subjectOf(op), route, known);
  return store === undefined ? args : { ...args, store };
}

/** The store that a link to another page carries. */
export function storeCarried(page: string, route: Route, known: KnownStores): string | undefined {
  const subject = SUBJECTS[page];
  const stores = subject === undefined ? [] : (known[subject] ?? []);
  if (subject === undefined || stores.length < 2) return undefined;
  const meant = storeMeant(subject, route, known) ?? route.params.store;
  return meant !== undefined && stores.includes(meant) ? meant : undefined;
}

/** Most stores in which one thing is looked for: each is a view of its own. */
const MOST_SEARCHED = 6;

/** The stores in which a thing is looked for whose name does not say where it is. One that is undefined: whichever the program takes. */
export function storesSearched(subject: string, known: KnownStores): readonly (string | undefined)[] {
  const stores = known[subject] ?? [];
  return stores.length < 2 ? [undefined] : stores.slice(0, MOST_SEARCHED);
}
