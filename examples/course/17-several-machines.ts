// The answer to the exercise of docs/course/17-several-machines.md: one line decides between a file and a server, and a host that any
// number of machines may run.

import {
  type AnyFlow,
  defineFlow,
  type FlowDefinition,
  type FlowHostDefinition,
  flowHost,
} from "signalbox/flow";
import { postgres, type StoreSource, sqlite } from "signalbox/store";

export interface ShopSource {
  readonly kind: "postgres" | "sqlite";
  readonly source: StoreSource;
}

/** The store that the environment names. @throws TypeError for a `DATABASE_URL` that is none of PostgreSQL */
export function sourceOf(env: Readonly<Record<string, string | undefined>>): ShopSource {
  const { DATABASE_URL: url, SHOP_DB: file = "shop.db" } = env;
  if (url === undefined) return { kind: "sqlite", source: sqlite(file) };
  // The URL may have a password: it does not belong into a log.
  if (!/^postgres(?:ql)?:\/\/./.test(url))
    throw new TypeError("DATABASE_URL must begin with postgres:// or postgresql://");
  return { kind: "postgres", source: postgres(url) };
}

/** An order: reserved, paid, shipped. @param log - gets what is done, which may be done again after a crash */
export function orderFlow(log: (what: string) => void): FlowDefinition<string, string> {
  return defineFlow("order", async (flow, item: string) => {
    await flow.step("reserve", () => log(`reserve ${item}`));
    const paid = await flow.receive<string>("paid");
    await flow.step("ship", () => log(`ship ${item}`));
    return `${item}, paid ${paid}`;
  });
}

/** A host with the name `flows`. The code is the same for a file and for a server. */
export function orderHost(source: StoreSource, flow: AnyFlow): FlowHostDefinition {
  return flowHost({ store: source, flows: [flow], name: "flows" });
}
