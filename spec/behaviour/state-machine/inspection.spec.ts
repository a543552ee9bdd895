// A running state machine is looked at from outside, and its definition is replaced.

import { type Call, defineStateMachine, inspect, System, startIn, to } from "signalbox";
import { describe, expect, it } from "vitest";

type Vault =
  | { readonly name: "shut"; readonly pin: string }
  | { readonly name: "open"; readonly pin: string };
type VaultEvent =
  | Call<{ readonly type: "unlock"; readonly pin: string }, boolean>
  | { readonly type: "shut" };

const Vault = defineStateMachine<Vault, VaultEvent, [pin: string]>({
  init: startIn("shut", (_m, pin) => ({ name: "shut", pin })),
  states: {
    shut: {
      on: {
        unlock: to("open", (state, { pin }, m) =>
          pin === state.pin ? m.next({ name: "open", pin }, m.reply(true)) : m.keep(m.reply(false)),
        ),
        shut: "ignore",
      },
    },
    open: {
      on: { unlock: "refuse", shut: to("shut", ({ pin }, _event, m) => m.next({ name: "shut", pin })) },
    },
  },
  format: ({ name }) => ({ name, pin: "****" }),
});

type Bolted = { readonly name: "bolted"; readonly tries: number };

/** A vault that nobody opens any more, with the events of the one before. */
const BoltedVault = defineStateMachine<Bolted, VaultEvent, []>({
  init: startIn("bolted", () => ({ name: "bolted", tries: 0 })),
  states: {
    bolted: {
      on: {
        unlock: ({ tries }, _event, m) => m.next({ name: "bolted", tries: tries + 1 }, m.reply(false)),
        shut: "ignore",
      },
    },
  },
});

describe("the inspection of a state machine", () => {
  it("shows the state as its definition formats it", async () => {
    await using system = new System({ report: false });
    const vault = await system.start(Vault, "1234");
    expect(await inspect(system, vault.pid).state()).toEqual({ name: "shut", pin: "****" });
  });

  it("replaces the definition, with a state that fits the new one", async () => {
    await using system = new System({ report: false });
    const vault = await system.start(Vault, "1234");
    expect(await vault.call.unlock({ pin: "1234" })).toBe(true);
    await inspect(system, vault.pid).swap(BoltedVault, () => ({ name: "bolted", tries: 7 }) as const, {
      from: Vault,
    });
    expect(await vault.call.unlock({ pin: "1234" })).toBe(false);
    expect(await inspect(system, vault.pid).state()).toEqual({ name: "bolted", tries: 8 });
  });

  it("a state that the new definition does not know crashes the machine at its next event", async () => {
    await using system = new System({ report: false });
    const vault = await system.start(Vault, "1234");
    await inspect(system, vault.pid).swap(BoltedVault, () => ({ name: "shut", tries: 7 }) as never, {
      from: Vault,
    });
    vault.cast.shut();
    expect(await system.exited(vault.pid)).toMatchObject({
      error: { code: "ERR_UNKNOWN_STATE", state: "shut" },
    });
  });
});
