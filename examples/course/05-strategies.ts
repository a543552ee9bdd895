// Page 05 of the course, strategies: a tree in which those that hold something of a failed part are new with it.

import { defineServer, dynamicSupervisor, System, supervisor } from "signalbox";

const NAMES = ["till", "recipes", "kitchen", "orders"] as const;
export type Name = (typeof NAMES)[number];

function shop(system: System) {
  const Till = defineServer({ init: () => ({ cents: 0 }) });
  const Recipes = defineServer({
    init: () => ({ oolong: "90 °C, three minutes" }),
    calls: { all: (recipes) => ({ ...recipes }) },
  });
  const Kitchen = defineServer({
    init: async () => ({ recipes: await Recipes.at(system, "recipes").call.all() }),
  });
  const Order = defineServer({
    init: (_ctx, started: () => void) => {
      started();
      return {};
    },
  });
  const Orders = dynamicSupervisor({
    // Transient: an order that is done stays so.
    child: { id: "order", start: Order, restart: "transient" },
    maxChildren: 1_000,
    name: "orders",
  });
  const Production = supervisor({
    strategy: "rest_for_one",
    label: "production",
    children: [
      { id: "recipes", start: Recipes, name: "recipes" },
      { id: "kitchen", start: Kitchen, name: "kitchen" },
    ],
  });
  const Shop = supervisor({
    label: "shop",
    children: [
      { id: "till", start: Till, name: "till" },
      { id: "production", start: Production },
      { id: "orders", start: Orders },
    ],
  });
  return { Shop, Orders };
}

/** Starts the shop, ends one of its processes, and returns the names that belong to a new process then. */
export async function replaced(system: System, victim: Name): Promise<Name[]> {
  await system.start(shop(system).Shop);
  const before = NAMES.map((name) => system.whereis(name));
  system.exit(victim, "kill");
  await system.idle();
  return NAMES.filter((name, i) => system.whereis(name) !== before[i]);
}

/** How often an order is started that ends in this way. */
export async function startsOf(system: System, end: "kill" | "shutdown"): Promise<number> {
  const { Shop, Orders } = shop(system);
  await system.start(Shop);
  let starts = 0;
  const started = (): void => {
    starts += 1;
  };
  const order = await Orders.at(system, "orders").startLike([started]);
  if (order !== undefined) system.exit(order.pid, end);
  await system.idle();
  return starts;
}

if (import.meta.filename === process.argv[1]) {
  for (const victim of NAMES) {
    await using system = new System({ name: "tea", report: false });
    console.log(victim, "ends; new are:", await replaced(system, victim));
  }
}
