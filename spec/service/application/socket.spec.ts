// The admin socket of a program without a durable host: `run` with the option `socket`, real sockets, and `signalbox system` as a terminal has it.

import { existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { defineServer, System, supervisor } from "signalbox";
import { EXIT_CODES, type RunOptions, run, type Service } from "signalbox/service";
import { expect, onTestFinished, test } from "vitest";
import { hostAt } from "../../../lib/cli/shell/reach.js";
import { folderWith } from "../../cli/pipelines/support.js";
import { runSystem as look } from "../../cli/support/system.js";
import { gate } from "../../support/gate.js";

const Till = defineServer({ init: () => 0, calls: { count: (state) => state } });
const Shop = supervisor({ children: [{ id: "till", name: "till", start: Till }] });

/** A service with a socket in a folder of its own. It touches no signals and no exit code of this process. */
function shop(
  options: Partial<RunOptions<undefined>> & { readonly tree?: () => typeof Shop | Promise<typeof Shop> } = {},
) {
  const { tree = async () => Shop, ...more } = options;
  const socket = more.socket || folderWith()("shop.sock");
  const service: Service = run(tree, { name: "shop", host: false, ...more, socket });
  onTestFinished(() => void service.stop());
  return { service, socket };
}

test("a service listens at its option `socket` until it has stopped, for its own user [Z900]", async () => {
  const { service, socket } = shop();
  await service.started;
  expect(await look("tree", "--socket", socket)).toMatchObject({
    code: 0,
    printed: expect.stringMatching(/^supervisor {2}shop\.\d+ {2}one_for_one.*\n {2}till {2}shop\.\d+$/),
  });
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  const client = await hostAt(socket);
  await expect(client?.ask("queues.list", {})).rejects.toThrow(
    'there is no operation "queues.list": this program answers only about system here',
  );
  client?.close();
  await service.stop();
  expect(existsSync(socket)).toBe(false);
  expect(await look("tree", "--socket", socket)).toMatchObject({ code: 2 });
  for (const none of [{}, { socket: false } as const]) {
    const quiet = run(Shop, { name: "quiet", host: false, ...none });
    await quiet.started;
    expect(quiet.system.processes().map((pid) => quiet.system.info(pid)?.label)).not.toContain(
      "admin socket",
    );
    await quiet.stop();
  }
  for (const wrong of ["", true, 7])
    expect(() => run(Shop, { host: false, socket: wrong as never })).toThrow(
      /^socket must be a path, or false/,
    );
});

test("a start and a stop that hang can be looked at, and a start that is stopped leaves no socket [Z901]", async () => {
  const [asked, starts, drains, ends] = [gate(), gate(), gate(), gate()];
  const { service, socket } = shop({
    tree: () => {
      asked.open();
      return starts.promise.then(() => Shop);
    },
    onDrain: () => {
      drains.open();
      return ends.promise;
    },
  });
  await asked.promise;
  expect((await look("processes", "--socket", socket)).printed).toContain("application");
  starts.open();
  await service.started;
  const stopped = service.stop();
  await drains.promise;
  expect((await look("process", "till", "--socket", socket)).code).toBe(0);
  ends.open();
  await stopped;
  expect(existsSync(socket)).toBe(false);

  const on = new System({ name: "shared", report: false });
  onTestFinished(() => on.stop({ timeoutMs: 0 }));
  let trees = 0;
  const tree = () => {
    trees++;
    return Shop;
  };
  const hasty = shop({ system: on, tree });
  await hasty.service.stop();
  expect(existsSync(hasty.socket)).toBe(false);
  expect(on.processes()).toEqual([]);
  // Code of the user does not run for a service that has ended.
  expect(trees).toBe(0);

  const [hangs, goesOn] = [gate(), gate()];
  const stuck = shop({
    system: on,
    onDrain: () => {
      hangs.open();
      return goesOn.promise;
    },
  });
  await stuck.service.started;
  // Whoever owns the system stops it: the socket outlives the tree then, too.
  const off = on.stop();
  await hangs.promise;
  expect((await look("process", "till", "--socket", stuck.socket)).code).toBe(0);
  goesOn.open();
  await off;
  await stuck.service.ended;
  expect(existsSync(stuck.socket)).toBe(false);
});

test("a start fails where another program listens or the path cannot be used, and takes the place of a killed one [Z902]", async () => {
  const path = folderWith({ file: "no socket" });
  const failure = async (socket: string) => {
    const { service } = shop({ socket, system: { report: false } });
    const { exitCode, cause, text } = await service.ended;
    expect(exitCode).toBe(EXIT_CODES.startFailed);
    expect(text).toMatch(
      /^shop did not start: the admin socket failed \(crash, AdminSocketError: cannot listen at /,
    );
    expect(cause).toMatchObject({ type: "start", part: "the admin socket", timedOut: false });
    expect(cause).toHaveProperty("reason.error.code", "ERR_ADMIN_SOCKET");
    return text;
  };
  const live = createServer().listen(path("live.sock"));
  onTestFinished(() => void live.close());
  expect(await failure(path("live.sock"))).toContain(
    `cannot listen at ${path("live.sock")}: another program listens there; stop it, or give this one another`,
  );
  expect(live.listening && existsSync(path("live.sock"))).toBe(true);
  expect(await failure(path("file"))).toContain("no socket");
  expect(await failure(path("no/such/folder.sock"))).toContain("ENOENT");
  writeFileSync(path("folder"), "");
  expect(await failure(path("folder/below.sock"))).toContain("ENOTDIR");
  // As a killed program leaves its socket: nobody listens there.
  const killed = createServer();
  await new Promise<void>((resolve) => killed.listen(path("first.sock"), resolve));
  renameSync(path("first.sock"), path("shop.sock"));
  await new Promise((resolve) => killed.close(resolve));
  expect(statSync(path("shop.sock")).isSocket()).toBe(true);
  const { service, socket } = shop({ socket: path("shop.sock") });
  await service.started;
  expect((await look("process", "till", "--socket", socket)).code).toBe(0);
});
