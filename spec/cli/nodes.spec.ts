// `signalbox nodes`: the sessions of a running program, for people and as JSON, from its admin socket.

import { System, supervisor } from "signalbox";
import { Sessions } from "signalbox/nodes";
import { run as start } from "signalbox/service";
import { expect, onTestFinished, test } from "vitest";
import { signalbox } from "../../lib/cli/signalbox.js";
import { FrameNetwork } from "../node/session/frame-network.js";
import { until } from "../support/until.js";
import { folderWith } from "./pipelines/support.js";
import { runSystem } from "./support/system.js";

/** As a terminal has it: the first word finds the subcommand. */
async function run(
  ...args: readonly string[]
): Promise<{ code: number; printed: string; complaints: string }> {
  let ran = { code: 0, printed: "", complaints: "" };
  const system = async (rest: readonly string[]) => {
    ran = await runSystem(...rest);
    return ran.code;
  };
  const nothing = () => undefined;
  const shell = {
    print: nothing,
    complain: nothing,
    version: "1",
    subcommands: { system: async () => system },
  };
  const code = await signalbox(["nodes", ...args], shell);
  return { ...ran, code };
}

async function program(name: string) {
  const socket = folderWith()(`${name}.sock`);
  const system = new System({ name, report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const service = start(supervisor({ children: [] }), { system, socket, host: false });
  await service.started;
  return { system, at: ["--socket", socket] };
}

test("shows each node with its session: epoch, credit, queue, gaps and round trips [N1280]", async () => {
  const network = new FrameNetwork();
  const { system: till, at } = await program("till");
  const stock = new System({ name: "stock", report: false });
  onTestFinished(() => stock.stop({ timeoutMs: 0 }));
  const [mine, theirs] = [till, stock].map(
    (system) => new Sessions(system, network.carrier(system.node), { limitMs: 400 }),
  ) as [Sessions, Sessions];
  network.meet();
  await until(() => mine.view()[0]?.lastRoundTripMs !== undefined);
  const { nodes } = JSON.parse((await run("--json", ...at)).printed);
  const [view] = theirs.view();
  expect(nodes).toMatchObject([
    { place: 1, name: "till", id: till.node.id, state: "here" },
    {
      ...{ place: 2, name: "stock", id: stock.node.id, state: "up" },
      session: {
        ...{ epoch: view?.epoch, version: 1, inFlight: 0, gaps: 0, ends: 0, lost: 0, refused: 0 },
        ...{ queued: { signals: 0, bytes: 0 }, uptimeMs: expect.any(Number) },
        ...{ roundTripMs: expect.any(Number), lastRoundTripMs: expect.any(Number) },
      },
    },
  ]);
  expect(nodes[1].session.credit.frames).toBeGreaterThan(0);
  const { code, printed } = await run(...at);
  expect(code).toBe(0);
  expect(printed).toMatch(
    /^NUMBER +NODE +ID +STATE +EPOCH .*CREDIT +CREDIT SIZE .*GAPS .*ROUND TRIP +LAST\n/,
  );
  expect(printed).toMatch(/\n +1 +till +\S+ +here\n +2 +stock +\S+ +up +\d+\.\d+ .* ms$/);
  expect(JSON.parse((await run("--after", "1", "--limit", "1", "--json", ...at)).printed)).toMatchObject({
    nodes: [{ place: 2 }],
  });

  network.kill(stock.node);
  await until(() => mine.view()[0]?.state !== "up");
  const after = JSON.parse((await run("--json", ...at)).printed);
  expect(after.nodes[1]).toMatchObject({ name: "stock", session: { ends: 1 } });
  expect(after.nodes[1].session).not.toHaveProperty("epoch");
});

test("says that a system is not connected, and refuses wrong arguments [N1280]", async () => {
  const { at } = await program("alone");
  expect(await run(...at)).toMatchObject({
    code: 0,
    printed: "no nodes: the system is not connected to others",
  });
  expect(await run("--limit", "0", ...at)).toMatchObject({ code: 2 });
  expect(await run("--socket", "/tmp/none.sock")).toMatchObject({ code: 2 });
});
