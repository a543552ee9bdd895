// Answers to a server that is away: they are lost, and lost answers change nothing.

import type { JsMsg } from "@nats-io/jetstream";
import { describe, expect, it } from "vitest";
import { deliveryOf } from "../../../lib/pipeline/messages/jetstream.js";

describe("a delivery of JetStream", () => {
  it.each(["ackUnconfirmed", "nak"] as const)(
    "whose connection is closed: %s does not throw [Y886]",
    (answer) => {
      const asked: string[] = [];
      const closed = (name: string) => () => {
        asked.push(name);
        throw new Error("the connection is closed");
      };
      const message = { string: () => "1", ack: closed("ack"), nak: closed("nak") };
      const delivery = deliveryOf(message as unknown as JsMsg);
      expect(delivery[answer](0)).toBeUndefined();
      expect(asked).toEqual([answer === "nak" ? "nak" : "ack"]);
    },
  );
});
