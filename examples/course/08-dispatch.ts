// Page 08 of the course, dispatch: each order goes to a barista who knows its kind, also after a crash.

import {
  AttemptsExhaustedError,
  ConsumerGroup,
  consumer,
  leastLoaded,
  type RoutingFunction,
  System,
  supervisor,
} from "signalbox";

export interface Order {
  readonly tea: string;
  readonly kind: "green" | "black";
  /** Attempts of this order that end in a crash. */
  readonly crashes: number;
}

const least = leastLoaded();
const knowing: RoutingFunction<Order> = (order, consumers, context) =>
  least(
    order,
    consumers.filter(({ tags }) => tags[order.payload.kind] === true),
    context,
  );

/** Serves all orders at once. Returns for each the name of the barista, or the error. */
export async function serve(system: System, orders: readonly Order[]): Promise<(string | Error)[]> {
  const attempts = new Map<Order, number>();
  const baristas = new ConsumerGroup<Order, string>({
    name: "baristas",
    route: knowing,
    maxAttempts: 3,
    patienceMs: 1_000,
  });
  const barista = (name: string, tags: Readonly<Record<string, boolean>>) =>
    consumer<Order, string>(
      (order) => {
        const attempt = (attempts.get(order) ?? 0) + 1;
        attempts.set(order, attempt);
        if (attempt <= order.crashes) throw new Error(`dropped the ${order.tea}`);
        return name;
      },
      { group: baristas, id: name, concurrency: 2, tags },
    );
  await system.start(
    supervisor({
      // Each order may crash three baristas.
      intensity: 3 * orders.length,
      children: [
        { id: "kim", start: barista("kim", { black: true }) },
        { id: "mei", start: barista("mei", { black: true, green: true }) },
      ],
    }),
  );
  return Promise.all(
    orders.map(async (order) => {
      try {
        const { reply } = await system.dispatch(baristas, order);
        return reply ?? new Error("served by nobody");
      } catch (error) {
        if (error instanceof AttemptsExhaustedError) return error;
        throw error;
      }
    }),
  );
}

if (import.meta.filename === process.argv[1]) {
  await using system = new System({ name: "tea", report: false });
  const orders: Order[] = [
    { tea: "sencha", kind: "green", crashes: 1 },
    { tea: "assam", kind: "black", crashes: 0 },
    { tea: "lapsang", kind: "black", crashes: 3 },
  ];
  for (const [i, answer] of (await serve(system, orders)).entries())
    console.log(`${orders[i]?.tea}: ${answer instanceof Error ? answer.message : answer}`);
}
