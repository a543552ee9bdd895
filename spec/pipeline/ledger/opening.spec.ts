// A ledger that is opened over a store which closes meanwhile, as that of a host that has lost its claim does.

import { System } from "signalbox";
import { type Claim, memory, openStore, type Store, StoreClosedError } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import { createExecution } from "../../../lib/pipeline/ledger/executions.js";
import { StoreLedger } from "../../../lib/pipeline/ledger/store-ledger.js";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";

test("a ledger that cannot be opened leaves nothing behind that would fail later", async () => {
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const open = await openStore(system, memory(), [PIPELINE_SCHEMA]);
  const claim = (await open.claim("host", { owner: "test" })) as Claim;
  const { row } = await createExecution(open, claim, {
    ...{ id: "one", pipeline: "test", config: null, input: null, sources: [], messages: [] },
  });
  const store = new Proxy<Store>(open, {
    get: (target, name) => {
      if (name === "watch")
        return () => {
          throw new StoreClosedError(target.label);
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const begun: string[] = [];
  const kernel = new Proxy(system.kernel, {
    get: (target, name) => {
      begun.push(String(name));
      return Reflect.get(target, name, target);
    },
  });
  const opened = StoreLedger.open({
    ...{ store, claim, execution: row, queues: ["q"], sources: [], maxMessageBytes: 1_000 },
    ...{
      payloads: new Payloads({}),
      listener: {} as never,
      context: { now: () => 0, after: () => () => undefined },
    },
    carried: { kernel, carrier: {} as never },
  });
  await expect(opened).rejects.toThrow(StoreClosedError);
  expect(begun).toEqual([]);
});
