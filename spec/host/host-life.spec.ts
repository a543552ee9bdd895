// The services beside the work of a durable host: its admin socket, its retention.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { expect, test } from "vitest";

const nothing = defineFlow("nothing", async () => undefined);
const lines = queue<string>("lines");
const reading = definePipeline("reading", {
  routes: [route("read", { from: lines }).via("drop", () => undefined)],
});

test.each([
  ["flows", "flow host", (file: string) => flowHost({ store: sqlite(file), flows: [nothing] })],
  [
    "pipelines",
    "pipeline host",
    (file: string) => pipelineHost({ store: sqlite(file), pipelines: [reading] }),
  ],
])("a host of %s ends with the reason of a service that has given up [J820]", async (_of, label, hostOf) => {
  const folder = mkdtempSync(join(tmpdir(), "life-"));
  try {
    await using system = new System({ report: false });
    await system.start(hostOf(join(folder, "store.db")) as never);
    const labelled = (of: string) => system.processes().find((pid) => system.info(pid)?.label === of);
    const host = labelled(label) ?? expect.fail("there is no host");
    const socket = labelled("admin socket") ?? expect.fail("there is no socket");
    const service = system.info(socket)?.parent ?? expect.fail("the socket has no supervisor");
    const ended = system.exited(host);
    system.exit(service, "kill");
    expect(await ended).toEqual({ type: "killed" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
