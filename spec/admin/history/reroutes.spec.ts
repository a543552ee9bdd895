// Re-routings: the event of dispatch, and the incidents that lead from a crash to what went on elsewhere.

import {
  ConsumerGroup,
  consumer,
  type Delivery,
  type Reroute,
  type RoutingFunction,
  type System,
  supervisor,
} from "signalbox";
import { expect, test } from "vitest";
import { shop } from "./bench.js";

const first: RoutingFunction<string> = (_envelope, candidates) => candidates[0];

/** A consumer that keeps its deliveries until somebody settles them. */
function desk(system: System, group: ConsumerGroup<string>, id: string) {
  const deliveries: Delivery<string>[] = [];
  const pid = system.spawn<Delivery<string>>(
    { handle: (_ctx, delivery) => void deliveries.push(delivery) },
    { label: id },
  );
  group.join(pid, { id });
  return { pid, deliveries };
}

test("each re-routing after the end of a consumer emits one event, with both consumers and what its timing in the outcome says [N1523]", async () => {
  const { clock, system } = await shop();
  const group = new ConsumerGroup<string>({ name: "clerks", route: first });
  const told: Reroute[] = [];
  system.events.on("reroute", (event) => told.push(event));
  const [ann, bob, cid] = ["ann", "bob", "cid"].map((id) => desk(system, group, id)) as never as [
    Desk,
    Desk,
    Desk,
  ];
  const sent = system.dispatch(group, "one");
  await clock.settle();
  system.exit(ann.pid, "kill");
  await clock.settle();
  // A rejection is none: its consumer lives on.
  bob.deliveries[0]?.reject(new Error("no tea"));
  await clock.settle();
  cid.deliveries[0]?.reply("done");
  const outcome = await clock.until(sent);
  expect(outcome.reroutedFrom).toEqual(["ann", "bob"]);
  expect(told).toEqual([
    {
      group: "clerks",
      envelope: outcome.envelope,
      from: "ann",
      fromPid: ann.pid,
      reason: { type: "killed" },
      to: "bob",
      toPid: bob.pid,
      attempt: 2,
      elapsedMs: outcome.rerouteTimings[0]?.elapsedMs,
    },
  ]);
});

type Desk = ReturnType<typeof desk>;

test("the re-routings of all that a consumer had are one incident for each way, which comes from its crash [N1523]", async () => {
  const { clock, system, one, all } = await shop();
  const group = new ConsumerGroup<string>({ name: "clerks", route: first });
  const crashes = consumer<string>(
    (text) => {
      if (text === "bad") throw new Error("burnt");
      return new Promise<void>(() => undefined);
    },
    { group, id: "north", concurrency: 100 },
  );
  await system.start(
    supervisor({
      label: "floor",
      intensity: 0,
      children: [{ id: "north", start: crashes, restart: "temporary" }],
    }),
  );
  const south = desk(system, group, "south");
  const sent = Array.from({ length: 50 }, (_, i) => system.dispatch(group, `${i}`, { deadlineMs: 60_000 }));
  await clock.settle();
  const bad = system.dispatch(group, "bad", { maxAttempts: 1 });
  await expect(clock.until(bad)).rejects.toThrow();
  await clock.settle();
  for (const one of south.deliveries) one.reply(undefined);
  for (const one of sent) expect((await clock.until(one)).deliveredTo).toBe("south");
  const crash = await one("crash");
  expect(crash).toMatchObject({ label: "north", error: { message: "burnt" } });
  const reroute = await one("reroute");
  expect(reroute).toMatchObject({
    count: 50,
    cause: crash.number,
    reason: "crash, Error: burnt",
    pid: `shop.${south.pid.id}`,
    reroute: { group: "clerks", from: "north", to: "south", attempt: 2, tookMs: 0 },
  });
  const dead = await one("undeliverable");
  expect(dead).toMatchObject({ label: "clerks", cause: crash.number });
  expect(await all("restart")).toEqual([]);
});

test("with a history, a dispatch that its first consumer acknowledges still has no process of its own [N1523]", async () => {
  const { clock, system } = await shop();
  const group = new ConsumerGroup<string>({ name: "clerks" });
  const ann = desk(system, group, "ann");
  const before = system.kernel.population;
  const sent = system.dispatch(group, "one");
  await clock.settle();
  expect(system.kernel.population).toBe(before);
  expect(system.kernel.events.wants.exit).toBeFalsy();
  ann.deliveries[0]?.reply(undefined);
  await clock.until(sent);
});
