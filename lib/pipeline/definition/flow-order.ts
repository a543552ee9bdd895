// The graph of a pipeline's routes: which come before which, and which edges lead back.

import type { AnyPipeline } from "./pipeline.js";

/** The order of routes. */
export interface RouteOrder {
  /** Names of the routes, upstream first. */
  readonly upstreamFirst: readonly string[];
  /** Whether a route that publishes to this queue closes a circle. */
  isBackEdge(route: string, queue: string): boolean;
}

/** Orders the routes by a search in depth from those that sources feed, then from the others as they were given. */
export function routeOrder({ options: { routes, sources = [] } }: AnyPipeline): RouteOrder {
  const readers = new Map(routes.map((route) => [route.options.from.name, route]));
  const back = new Set<string>();
  const visits = new Map<string, "open" | "closed">();
  const postOrder: string[] = [];
  // An explicit stack: a chain of many routes does not recurse.
  for (const root of [...sources.map(({ to }) => to.name), ...readers.keys()]) {
    const stack: { readonly queue: string; next: number }[] = [{ queue: root, next: 0 }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const route = readers.get(top.queue);
      if (top.next === 0 && (route === undefined || visits.has(route.name))) {
        stack.pop();
        continue;
      }
      if (route === undefined) break;
      visits.set(route.name, "open");
      const exit = route.outbound[top.next++];
      if (exit === undefined) {
        visits.set(route.name, "closed");
        postOrder.push(route.name);
        stack.pop();
        continue;
      }
      const reader = readers.get(exit.queue.name);
      const visit = reader === undefined ? undefined : visits.get(reader.name);
      if (visit === "open") back.add(`${route.name}/${exit.queue.name}`);
      else if (reader !== undefined && visit === undefined) stack.push({ queue: exit.queue.name, next: 0 });
    }
  }
  return {
    upstreamFirst: postOrder.reverse(),
    isBackEdge: (route, queue) => back.has(`${route}/${queue}`),
  };
}
