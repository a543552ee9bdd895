// The spans that an observer shows: kept from the start if it is asked to, and else while somebody looks at traces.

import { defineServer, OptionError, System } from "signalbox";
import { history, observer, observerHandler } from "signalbox/observer";
import { expect, onTestFinished, test, vi } from "vitest";
import { KernelOperations } from "../../lib/admin/system/kernel-operations.js";
import { post } from "./support.js";

const Till = defineServer({ label: "till", init: () => 0, calls: { pay: (_state, n: number) => n } });

function shop(): System {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return system;
}

test.each([
  ["an observer", () => observer({ port: 0, traces: true, onListening: () => undefined })],
  ["a history", () => history({ traces: true })],
] as const)(
  "%s with traces keeps them from its start to its end, without a viewer [N1548]",
  async (_, made) => {
    const system = shop();
    await system.start(made() as ReturnType<typeof history>);
    const till = await system.start(Till);
    await till.call.pay(1);
    expect(system.kernel.taps).toBeDefined();
    expect(await new KernelOperations(system.kernel).traces()).toMatchObject([
      { name: "till/pay", spans: 2 },
    ]);
    const other = shop();
    await other.start(made() as ReturnType<typeof history>);
    expect(other.kernel.taps).toBeDefined();
    const [first] = other.processes();
    other.exit(first as never, "shutdown");
    await vi.waitUntil(() => other.kernel.taps === undefined);
  },
);

test("an observer without traces keeps none until a viewer asks for some [N1548]", async () => {
  const system = shop();
  const handler = observerHandler(system);
  const ask = async (op: string): Promise<unknown> =>
    (await handler.fetch(post("/api/ask", { op, args: {} }, handler.token))).json();
  await ask("system.overview");
  expect(system.kernel.taps).toBeUndefined();
  expect(await ask("system.traces")).toEqual({ ok: [] });
  const till = await system.start(Till);
  await till.call.pay(1);
  expect(await ask("system.traces")).toMatchObject({ ok: [{ name: "till/pay", status: "ok" }] });
});

test("traces is true or false [N1548]", () => {
  expect(() => history({ traces: 1 } as never)).toThrow(OptionError);
  expect(() => observer({ port: 0, traces: "yes" } as never)).toThrow(OptionError);
});
