// The recipe "agent": calls of tools and of the model, approvals, the budget, tools that fail, and a host that is killed anywhere.

import { supervisor } from "signalbox";
import { flowHost } from "signalbox/flow";
import { explore, flowKit } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import {
  type AgentEnd,
  type AgentState,
  agentFlow,
  type Message,
  type Model,
  type Tool,
  type ToolCall,
} from "../../../examples/cookbook/agent/agent.js";

const call = (tool: string, id = tool): ToolCall => ({ id, tool, input: { item: "tea" } });

/** A model that asks for these calls one after another, and then answers with what the tools said. */
const scripted =
  (...calls: readonly ToolCall[]): Model =>
  async (messages) => {
    const next = calls[messages.filter(({ role }) => role === "assistant").length];
    return next === undefined ? { text: said(messages), calls: [] } : { text: "", calls: [next] };
  };
const said = (messages: readonly Message[]): string =>
  messages.flatMap((message) => (message.role === "tool" ? [message.text] : [])).join(", ");

/** A tool that counts its calls. */
function tool(log: string[], name: string, more: Partial<Tool> = {}): Tool {
  return {
    ...more,
    run: async (input, options) => {
      log.push(name);
      return more.run?.(input, options) ?? `${name} done`;
    },
  };
}

describe("an agent", () => {
  it("goes on after a kill, and calls no tool twice whose result it has", async () => {
    const log: string[] = [];
    let isLost = true;
    const keys: string[] = [];
    const order = tool(log, "order", {
      run: async (_input, { key }) => {
        keys.push(key);
        return isLost ? new Promise(() => undefined) : "ordered";
      },
    });
    const agent = agentFlow({
      model: scripted(call("price"), call("order")),
      tools: { price: tool(log, "price"), order },
    });
    await using kit = await flowKit({ flows: [agent] });
    const run = await kit.start(agent, "order tea");
    isLost = false;
    await kit.crash();
    expect(await run.result()).toEqual({ answer: "price done, ordered", calls: 5 });
    expect(log).toEqual(["price", "order", "order"]);
    expect(keys[1]).toBe(keys[0]);
  });

  it("waits for a person, across a kill, and takes a no or a silence for an answer", async () => {
    for (const [ok, end] of [
      [true, "order done"],
      [false, "error: Ada said no"],
      [undefined, "error: nobody decided in time"],
    ] as const) {
      const log: string[] = [];
      const order = tool(log, "order", { needsApproval: true });
      const agent = agentFlow({ model: scripted(call("order", "c1")), tools: { order } });
      await using kit = await flowKit({ flows: [agent] });
      const run = await kit.start(agent, "order tea");
      await kit.crash();
      await run.send("approve c2", { by: "Eve", ok: true });
      const { doing } = await kit.clock.until(kit.host.get(run.id).query<AgentState>("agent"));
      expect([doing, log]).toEqual(["waits for approval of order", []]);
      if (ok !== undefined) await run.send("approve c1", { by: "Ada", ok });
      expect((await run.result()).answer).toBe(end);
    }
  });

  it("tells the model of a tool that fails or hangs, and of one that is not there", async () => {
    const log: string[] = [];
    const down = tool(log, "down", { run: () => Promise.reject(new Error("no answer")) });
    const hangs = tool(log, "hangs", { run: () => new Promise(() => undefined) });
    const model = scripted(call("down"), call("hangs"), call("toString"));
    const agent = agentFlow({ model, tools: { down, hangs } });
    await using kit = await flowKit({ flows: [agent] });
    const { answer } = await (await kit.start(agent, "try")).result();
    expect(answer).toMatch(/^error: no answer, error: .*30,?000.*, error: there is no tool "toString"$/);
    expect(log).toEqual(["down", "down", "down", "hangs", "hangs", "hangs"]);
  });

  it("ends at its budget, in the middle of a turn as well", async () => {
    const log: string[] = [];
    const model: Model = async () => ({ text: "more", calls: [call("look", "a"), call("look", "b")] });
    const agent = agentFlow({ model, tools: { look: tool(log, "look") }, maxCalls: 5 });
    await using kit = await flowKit({ flows: [agent] });
    expect(await (await kit.start(agent, "loop")).result()).toEqual({ answer: undefined, calls: 5 });
    expect(log).toHaveLength(3);
  });

  it("is kept for a person when the model does not answer for long", async () => {
    const agent = agentFlow({ model: () => Promise.reject(new Error("429")), tools: {} });
    await using kit = await flowKit({ flows: [agent] });
    const run = await kit.start(agent, "try");
    await kit.advance("1 hour");
    expect(await run.status()).toBe("hospitalized");
  });

  it("orders once, wherever its host is killed and whichever answer is lost", async () => {
    const { schedules } = await explore(
      async (sim) => {
        const orders = new Set<string>();
        const failures = [new Error("no answer")];
        const order = sim.io("order", (key: string) => `order ${orders.add(key).size}`, { failures });
        const model = sim.io("model", scripted(call("order")), { failures });
        const agent = agentFlow({ model, tools: { order: { run: (_input, { key }) => order(key) } } });
        const system = sim.system({ name: "office" });
        const host = flowHost({ store: sim.store(), flows: [agent], name: "flows" });
        sim.calm();
        await system.start(supervisor({ label: "root", children: [{ id: "flows", start: host }] }));
        sim.storm();
        const flows = host.at(system, "flows");
        for (let end: AgentEnd | undefined; end === undefined; ) {
          try {
            await flows.start(agent, "order tea", { id: "agent-1" });
            end = await flows.get<AgentEnd>("agent-1").result({ timeoutMs: 600_000 });
          } catch {
            await sim.sleep(10);
          }
        }
        if (orders.size !== 1) throw new Error(`${orders.size} orders`);
      },
      { schedules: 40, faults: { crash: { of: "office/root/flows", reason: "kill" } } },
    );
    expect(schedules).toBe(40);
  });
});
