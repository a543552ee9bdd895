// The answer to page 02 of the course: no payment is lost, although each awaits the terminal.

import { System } from "signalbox";
import { expect, it } from "vitest";
import { payAtOnce } from "../../../examples/course/02-first-process.js";

it("counts each payment and tip of customers who pay at once", async () => {
  await using system = new System();
  let charging = 0;
  let together = 0;
  const terminal = async (): Promise<void> => {
    together = Math.max(together, ++charging);
    await new Promise(setImmediate);
    charging--;
  };
  const amounts = [...Array.from({ length: 100 }, (_, i) => i + 1), -5, 0.5];
  expect(await payAtOnce(system, amounts, terminal)).toEqual({
    total: 5050 + 102,
    refused: ["-5 is no amount", "0.5 is no amount"],
  });
  expect(together).toBe(1);
});
