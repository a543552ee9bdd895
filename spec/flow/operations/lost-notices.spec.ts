// Waits at a shared store whose notice was lost: the host that committed was killed before it notified.

import { expect, test } from "vitest";
import {
  type AnyFlow,
  defineFlow,
  type OpenFlowOperations,
  openFlowOperations,
} from "../../../lib/flow/index.js";
import { memory } from "../../../lib/store/index.js";
import { type Bench, bench } from "../runtime/bench.js";
import { deafening } from "../runtime/deafening.js";

const waiting = defineFlow("waiting", async (flow, _: undefined) => {
  flow.emit("heard", await flow.receive<string>("word"));
  return flow.receive<string>("end");
});

interface Deaf extends AsyncDisposable {
  readonly host: Bench;
  readonly operations: OpenFlowOperations;
}

/** A host with the flow `f`, and operations beside it that are notified of nothing. */
async function deafOperations(definition: AnyFlow): Promise<Deaf> {
  const shared = memory({ shared: true });
  const store = deafening(shared);
  const host = await bench([definition], { store: shared });
  const operations = await host.until(openFlowOperations(host.system, store.source));
  await host.until(host.flows.start(waiting, undefined, { id: "f" }));
  await host.clock.advance(100);
  store.deaf = true;
  return {
    host,
    operations,
    async [Symbol.asyncDispose]() {
      await host.until(operations.close());
      await host[Symbol.asyncDispose]();
    },
  };
}

/** What a promise was fulfilled with, if it was. */
function seen<T>(promise: Promise<T>): { value?: T } {
  const found: { value?: T } = {};
  promise.then((value) => {
    found.value = value;
  });
  return found;
}

test("the outcome of a flow whose notice was lost is found at the next look, some seconds later [N1513]", async () => {
  await using on = await deafOperations(waiting);
  const { clock, flows, until } = on.host;
  const outcome = seen(on.operations.outcome("f"));
  await clock.advance(60_000);
  expect(outcome.value).toBeUndefined();
  await until(flows.get("f").send("word", "go on"));
  await until(flows.get("f").send("end", "done"));
  await clock.advance(6_000);
  expect(outcome.value).toEqual({ status: "completed", result: "done" });
});

test("an event of a flow whose notice was lost is found at the next look, and so is the end of the flow [N1513]", async () => {
  await using on = await deafOperations(waiting);
  const { clock, flows, until } = on.host;
  const events = on.operations.events("f", { timeoutMs: 8_000 })[Symbol.asyncIterator]();
  const event = seen(events.next());
  await clock.advance(100);
  await until(flows.get("f").send("word", "go on"));
  await clock.advance(6_000);
  expect(event.value?.value).toMatchObject({ topic: "heard", value: "go on" });
  const end = seen(events.next());
  await clock.advance(100);
  await until(flows.get("f").send("end", "done"));
  await clock.advance(6_000);
  expect(end.value).toEqual({ done: true, value: undefined });
});
