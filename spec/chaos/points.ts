// The points at which a process can be killed: before and after everything that a host does with its store or with the world.

import type { Store, StoreSource } from "signalbox/store";

/** Called at every point. */
export type Point = () => void;

/** Kills this process at the n-th point. Gives the point, and how many were passed. */
export function killingAt(at: number | undefined): { readonly point: Point; passed(): number } {
  let passed = 0;
  return {
    point: () => {
      passed++;
      if (passed === at) process.kill(process.pid, "SIGKILL");
    },
    passed: () => passed,
  };
}

/** The store, with a point before and after everything that it does. */
export function withPoints(source: StoreSource, point: Point): StoreSource {
  return {
    label: source.label,
    open: async (schemas, context) => pointed(await source.open(schemas, context), point),
  };
}

function pointed(store: Store, point: Point): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "submit") return submitOf(target, point);
      if (name === "transaction") return transactionOf(target, point);
      return (...given: readonly unknown[]) => {
        point();
        const result: unknown = Reflect.apply(value, target, given);
        return result instanceof Promise ? result.finally(point) : result;
      };
    },
  });
}

function submitOf(store: Store, point: Point): Store["submit"] {
  return (set, settled) => {
    point();
    store.submit(set, (error, committed) => {
      point();
      settled(error, committed);
    });
  };
}

function transactionOf(store: Store, point: Point): Store["transaction"] {
  return (body, options) => {
    point();
    const { attach, ...rest } = options ?? {};
    const attached: typeof attach =
      attach &&
      ((result) => {
        point();
        return attach(result);
      });
    const done = store.transaction(
      async (tx) => {
        const result = await body(tx);
        point();
        return result;
      },
      attached === undefined ? rest : { ...rest, attach: attached },
    );
    return done.finally(point);
  };
}
