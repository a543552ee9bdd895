// The channels of an execution that ends while they are being made, named or filled.

import { System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Carrier } from "../../../lib/pipeline/messages/carrier.js";
import { type CarriedQueues, Channels } from "../../../lib/pipeline/messages/channels.js";
import { channels as channelNames } from "../../../lib/pipeline/queues/tables.js";
import type { Store, Table } from "../../../lib/store/index.js";
import { gate, until } from "../queues/waits.js";

const STEPS = ["make", "name", "resend"] as const;

describe("the channels of an execution that has ended", () => {
  let system: System;
  beforeEach(() => {
    system = new System({ report: false });
  });
  afterEach(() => system.stop());

  it.each(STEPS)("are removed, also where the end comes before the answer to: %s [Y606]", async (step) => {
    const there = new Set<string>();
    const asked = gate();
    const answer = gate();
    const at = async (one: (typeof STEPS)[number]): Promise<void> => {
      if (one !== step) return;
      asked.open();
      await answer.opened;
    };
    const carrier = {
      make: async (channel: string) => {
        await at("make");
        there.add(channel);
      },
      remove: async (channel: string) => void there.delete(channel),
    } as unknown as Carrier;
    const queues: CarriedQueues = {
      store: { get: async () => [undefined], commit: () => at("name") } as unknown as Store,
      table: channelNames as Table,
      naming: [],
      place: (queue) => ({ queue }),
      prefixOf: (queue) => queue,
      resend: () => at("resend"),
      suspect: async () => undefined,
    };
    const channels = new Channels(queues, carrier, system.kernel);
    channels.watch("q", () => undefined);
    await asked.opened;
    channels.end();
    answer.open();
    await system.idle();
    await until(() => there.size === 0, "the removal");
    expect([...there]).toEqual([]);
  });
});
