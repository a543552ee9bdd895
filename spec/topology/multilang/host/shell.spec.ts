// Shell components whose program is played by the test: the messages to it, the effects of its messages, and both ends.

import { describe, expect, test } from "vitest";
import { OptionError } from "../../../../lib/process/errors.js";
import { type TestClock, testClock } from "../../../../lib/testing/kit/clock.js";
import { field } from "../../../../lib/topology/definition/field.js";
import { ShellError } from "../../../../lib/topology/multilang/host/errors.js";
import { shellBolt, shellBoltOn } from "../../../../lib/topology/multilang/host/shell-bolt.js";
import type { ShellBoltOptions } from "../../../../lib/topology/multilang/host/shell-options.js";
import { shellSpout, shellSpoutOn } from "../../../../lib/topology/multilang/host/shell-spout.js";
import { requests } from "../../../../lib/topology/multilang/protocol/host-messages.js";
import { macrotask } from "../../../support/host.js";
import { FakeChild, type FakeOptions } from "./fake-child.js";
import { TaskHost } from "./task-host.js";

const streams = { words: { word: field.text, at: field.number }, marks: { mark: field.text } };

/** A bolt `split` that reads lines, with a child played by the test. */
async function startBolt(options: Partial<ShellBoltOptions> = {}, fake?: FakeOptions) {
  const child = new FakeChild(fake);
  const clock = testClock();
  const input = { text: field.text };
  const host = new TaskHost(
    shellBoltOn(child.open, { command: "split", input, streams, ...options }),
    clock.environment,
  );
  await clock.settle();
  return { child, clock, host };
}

async function startSpout(options: Partial<ShellBoltOptions> = {}, fake?: FakeOptions) {
  const child = new FakeChild(fake);
  const clock = testClock();
  const host = new TaskHost(
    shellSpoutOn(child.open, { command: "lines", streams, ...options }),
    clock.environment,
  );
  await clock.settle();
  return { child, clock, host };
}

/** The error that the task crashed with. */
async function crashOf({ host, clock }: { host: TaskHost; clock: TestClock }): Promise<ShellError> {
  await clock.advance(2_000);
  const reason = await host.ended;
  if (reason.type !== "crash") throw new Error(`no crash but ${reason.type}`);
  expect(reason.error).toBeInstanceOf(ShellError);
  expect(reason.error).toMatchObject({ code: "ERR_SHELL", component: "shell", task: 3 });
  return reason.error as ShellError;
}

const emit = (tuple: unknown[], more: object = {}) => ({
  command: "emit",
  stream: "words",
  tuple,
  need_task_ids: false,
  ...more,
});

describe("the handshake", () => {
  test("tells the child where it is, what it emits, and its configuration", async () => {
    const { child, host } = await startBolt({
      conf: { depth: 2 },
      args: ["-u"],
      env: { LANG: "C" },
      cwd: "/",
    });
    await host.started;
    expect(child.spec).toEqual({ command: "split", args: ["-u"], env: { LANG: "C" }, cwd: "/" });
    expect(child.received).toEqual([
      {
        conf: { depth: 2 },
        pidDir: "pids",
        context: {
          "task->component": { 3: "shell" },
          taskid: 3,
          componentid: "shell",
          streams: ["words", "marks"],
          "stream->outputfields": { words: ["word", "at"], marks: ["mark"] },
          "stream->target->grouping": {},
          "source->stream->grouping": {},
          "source->stream->fields": {},
        },
      },
    ]);
  });

  test("is awaited, for startTimeoutMs", async () => {
    const late = await startBolt({ startTimeoutMs: 500 }, { greets: false });
    await late.clock.advance(499);
    late.child.say({ command: "log", msg: "nearly", level: 2 }, { pid: 1 });
    await late.host.started;
    expect(late.host.lines).toEqual(["info: nearly"]);

    const never = await startBolt({ startTimeoutMs: 500 }, { greets: false });
    const { problem, message } = await crashOf(never);
    expect([problem, message]).toEqual([
      "start",
      "the program of shell (task 3) did not answer the handshake within 500 ms",
    ]);
    expect(never.child.signals).toEqual(["SIGTERM"]);
    expect(never.child.disposed).toBe(true);
  });

  test("comes first, and is answered once", async () => {
    const early = await startBolt({}, { greets: false });
    early.child.say({ command: "sync" });
    expect((await crashOf(early)).message).toContain("must answer the handshake with its process id first");
    const twice = await startBolt();
    twice.child.say({ pid: 78 });
    expect((await crashOf(twice)).message).toContain("sent its process id 78 without a handshake");
  });

  test("fails when there is no such program", async () => {
    const none = await startBolt({}, { greets: false });
    none.child.end("could not be started: spawn split ENOENT", false);
    const { problem, message } = await crashOf(none);
    expect([problem, message]).toEqual([
      "start",
      "the program of shell (task 3) could not be started: spawn split ENOENT",
    ]);
  });
});

describe("a bolt's child", () => {
  test("is given no more tuples than maxHeld: the next one waits until the program settles one [M8]", async () => {
    const { child, host } = await startBolt({ maxHeld: 2 });
    await host.execute({ text: "a" });
    let taken = false;
    const second = host.execute({ text: "b" }).then(() => {
      taken = true;
    });
    await macrotask();
    expect([child.asked.length, taken]).toEqual([2, false]);
    child.say({ command: "ack", id: "1" });
    await second;
  });

  test("is given tuples, and its acks and fails are the task's", async () => {
    const { child, host } = await startBolt();
    await host.execute({ text: "a" });
    await host.execute({ more: 1, text: "b" });
    expect(child.asked).toEqual([
      requests.tuple("1", "source", "lines", 1, ["a"]),
      requests.tuple("2", "source", "lines", 1, ["b"]),
    ]);
    child.say({ command: "fail", id: 2 }, { command: "ack", id: "1" });
    expect([host.acked, host.failed]).toEqual([[{ text: "a" }], [{ more: 1, text: "b" }]]);
  });

  test("emits, anchored to the tuples that it names", async () => {
    const { child, host } = await startBolt();
    await host.execute({ text: "a b" });
    await host.execute({ text: "c" });
    child.say(
      emit(["a", 0], { anchors: ["1"] }),
      emit(["b", 2], { anchors: [1, "2"] }),
      emit(["x", 0]),
      emit(["!"], { stream: "marks", task: 9 }),
    );
    expect(host.emitted).toEqual([
      { stream: "words", values: { word: "a", at: 0 }, anchors: [{ text: "a b" }] },
      { stream: "words", values: { word: "b", at: 2 }, anchors: [{ text: "a b" }, { text: "c" }] },
      { stream: "words", values: { word: "x", at: 0 }, anchors: [] },
      { stream: "marks", values: { mark: "!" }, anchors: [], task: 9 },
    ]);
    expect(child.asked).toHaveLength(2);
  });

  test("gets the receiving tasks of its emits, in order, unless it does not ask or names the task", async () => {
    const { child, host } = await startBolt();
    await host.started;
    const asking = { need_task_ids: undefined };
    child.say(
      emit(["a", 0], asking),
      emit(["b", 0]),
      emit(["c", 0], { ...asking, task: 8 }),
      emit(["d", 0], asking),
    );
    expect(child.asked).toEqual([
      [4, 5],
      [4, 5],
    ]);
  });

  test("gets ticks, and acks them like any tuple", async () => {
    const { child, host } = await startBolt({ config: { tickMs: 100 } });
    await host.tick();
    expect(child.asked).toEqual([requests.tick("1")]);
    child.say(emit(["a", 0], { anchors: ["1"] }), { command: "ack", id: "1" });
    expect(host.emitted).toEqual([{ stream: "words", values: { word: "a", at: 0 }, anchors: [] }]);
    expect(host.acked).toEqual([]);
  });

  test("does not get a tuple that JSON cannot carry; that tuple fails", async () => {
    const { child, host } = await startBolt();
    await host.execute({ text: 5n });
    await host.execute({ text: "b" });
    expect(host.failed).toEqual([{ text: 5n }]);
    expect(host.lines[0]).toContain("error: failed a tuple of source.lines: cannot be written as JSON");
    expect(child.asked).toEqual([requests.tuple("2", "source", "lines", 1, ["b"])]);
  });

  test("may read streams by name, each with fields of its own", async () => {
    const child = new FakeChild();
    const inputs = { a: { x: field.number, y: field.number }, b: { y: field.number } };
    await using host = new TaskHost(shellBoltOn(child.open, { command: "c", inputs }));
    await host.execute({ y: 2, x: 1 }, "a");
    await host.execute({ y: 3 }, "b");
    expect(child.asked).toEqual([
      requests.tuple("1", "source", "a", 1, [1, 2]),
      requests.tuple("2", "source", "b", 1, [3]),
    ]);
  });

  test("holds the next tuple back while its input is full", async () => {
    const { child, clock, host } = await startBolt();
    child.room = false;
    const first = host.execute({ text: "a" });
    const second = host.execute({ text: "b" });
    await clock.settle();
    expect(child.asked).toHaveLength(1);
    // Meanwhile it is listened to.
    child.say({ command: "ack", id: "1" });
    expect(host.acked).toEqual([{ text: "a" }]);
    child.drain();
    await Promise.all([first, second]);
    expect(child.asked).toHaveLength(2);
  });

  test("has its messages logged: log, error, metrics and standard error", async () => {
    const { child, host } = await startBolt();
    await host.started;
    child.say(
      { command: "log", msg: "fine", level: 0 },
      { command: "error", msg: "not fine" },
      { command: "metrics", name: "rate", params: [1, { a: 2 }] },
    );
    child.complain("Trace");
    child.complain("back\r\n  in line 1\nand");
    expect(host.lines).toEqual([
      "trace: fine",
      "error: not fine",
      'info: metrics rate: [1,{"a":2}]',
      "warn: Traceback",
      "warn:   in line 1",
    ]);
  });

  test("may have its metrics passed to a function", async () => {
    const metrics: unknown[] = [];
    const { child, host } = await startBolt({ onMetrics: (name, params) => metrics.push([name, params]) });
    await host.started;
    child.say({ command: "metrics", name: "rate", params: 1 });
    expect([metrics, host.lines]).toEqual([[["rate", 1]], []]);
  });
});

describe("heartbeats", () => {
  test("go to the child, one at a time", async () => {
    const { child, clock, host } = await startBolt({ heartbeatMs: 100, timeoutMs: 1_000 });
    await host.started;
    await clock.advance(350);
    expect(child.asked).toEqual([requests.heartbeat()]);
    child.say({ command: "sync" });
    await clock.advance(100);
    expect(child.asked).toHaveLength(2);
  });

  test("must be answered within the timeout, even while a tuple waits for room", async () => {
    const { child, clock, host } = await startBolt({ heartbeatMs: 100, timeoutMs: 1_000 });
    await host.started;
    for (let beat = 0; beat < 20; beat++) {
      await clock.advance(100);
      child.say({ command: "sync" });
    }
    child.room = false;
    void host.execute({ text: "a" });
    const { problem, message } = await crashOf({ host, clock });
    expect([problem, message]).toEqual([
      "timeout",
      "the program of shell (task 3) did not answer a heartbeat within 1000 ms",
    ]);
  });

  test("are off with an infinite period", async () => {
    const { child, clock, host } = await startBolt({ heartbeatMs: Number.POSITIVE_INFINITY });
    await host.started;
    await clock.advance(1_000_000);
    expect(child.asked).toEqual([]);
  });
});

describe("the task crashes, and its child is ended, when the child", () => {
  test.each<[string, string, unknown[], string]>([
    [
      "settled",
      "acks twice",
      [
        { command: "ack", id: "1" },
        { command: "ack", id: "1" },
      ],
      'acked tuple "1", which it had',
    ],
    [
      "settled",
      "fails what it acked",
      [
        { command: "ack", id: "1" },
        { command: "fail", id: 1 },
      ],
      "failed tuple 1, which",
    ],
    ["settled", "acks what it was never given", [{ command: "ack", id: "5" }], "which it was never given"],
    [
      "settled",
      "acks an id that is none of ours",
      [{ command: "ack", id: "01" }],
      "which it was never given",
    ],
    [
      "settled",
      "anchors to what it acked",
      [{ command: "ack", id: "1" }, emit(["a", 1], { anchors: ["1"] })],
      'anchored to tuple "1", which it had acked or failed before',
    ],
    ["protocol", "uses an unknown command", [{ command: "nack" }], '"nack"'],
    [
      "protocol",
      "emits on a stream it has not",
      [emit([], { stream: "x" })],
      'no stream "x"; declared are: words, marks',
    ],
    ["protocol", "names no stream and has several", [emit(["a", 1], { stream: undefined })], "no stream"],
    ["protocol", "emits too few values", [emit(["a"])], "stream words must have 2 values (word, at)"],
    [
      "protocol",
      "emits a value of another type",
      [emit(["a", "1"])],
      "field at of stream words must be a number",
    ],
  ])("%s: %s", async (problem, _text, messages, named) => {
    const started = await startBolt();
    await started.host.execute({ text: "a" });
    started.child.say(...messages);
    const error = await crashOf(started);
    expect(error.problem).toBe(problem);
    expect(error.message).toContain(named);
    expect(started.child.signals).toEqual(["SIGTERM"]);
    expect(started.child.disposed).toBe(true);
  });

  test("prints a line that is no message", async () => {
    const started = await startBolt();
    started.child.write('hello\n{"command":"sync"}\nend\n');
    expect((await crashOf(started)).message).toContain("hello");
  });

  test("writes too long a message", async () => {
    const started = await startBolt({ maxMessage: 1_000 });
    started.child.write("x".repeat(1_001));
    expect((await crashOf(started)).message).toContain("1000 bytes");
  });

  test("ends; the error holds its last lines", async () => {
    const started = await startBolt();
    await started.host.started;
    started.child.complain("Traceback\nValueError: no");
    started.child.write('{"comm');
    started.child.end("ended with code 1");
    const { problem, message } = await crashOf(started);
    expect(problem).toBe("exited");
    expect(message).toBe(
      "the program of shell (task 3) ended with code 1 within a message, 6 bytes of it read; its last lines on standard error were:\n" +
        "Traceback\nValueError: no",
    );
  });

  test("does not read its input", async () => {
    const started = await startBolt();
    started.child.waiting = 2 ** 30;
    void started.host.execute({ text: "a" });
    expect((await crashOf(started)).problem).toBe("limit");
  });
});

describe("the child ends with its task", () => {
  test("when that stops: it is asked to, and its end is awaited and no crash", async () => {
    const { child, host } = await startBolt();
    await host.started;
    await host.system.stop();
    expect((await host.ended).type).toBe("shutdown");
    expect([child.signals, child.disposed]).toEqual([["SIGTERM"], true]);
  });

  test("when that is killed", async () => {
    const { child, clock, host } = await startBolt();
    await host.started;
    host.system.exit(host.pid, "kill");
    await clock.settle();
    expect([child.signals, child.disposed]).toEqual([["SIGTERM"], true]);
  });

  test("by force when it does not end within graceMs", async () => {
    const { child, clock, host } = await startBolt({ graceMs: 300 }, { obeys: false });
    await host.started;
    host.system.exit(host.pid, "shutdown");
    await clock.advance(299);
    expect([child.signals, host.system.isAlive(host.pid)]).toEqual([["SIGTERM"], true]);
    await clock.advance(1);
    expect([child.signals, host.system.isAlive(host.pid)]).toEqual([["SIGTERM", "SIGKILL"], false]);
    expect(child.disposed).toBe(true);
  });

  test("at the end of the system, even within graceMs", async () => {
    const { child, clock, host } = await startBolt({ graceMs: 60_000 }, { obeys: false });
    await host.started;
    host.system.exit(host.pid, "kill");
    await clock.settle();
    expect(child.signals).toEqual(["SIGTERM"]);
    await host.system.stop();
    expect([child.signals, child.disposed]).toEqual([["SIGTERM", "SIGKILL"], true]);
  });

  test("when the task ends while the child is being started", async () => {
    const { child, clock, host } = await startBolt({}, { greets: false });
    host.system.exit(host.pid, "kill");
    await clock.settle();
    expect([child.signals, child.disposed]).toEqual([["SIGTERM"], true]);
  });
});

describe("a spout's child", () => {
  test("gets one command at a time, and ends each with a sync", async () => {
    const { child, clock, host } = await startSpout();
    expect(child.asked).toEqual([requests.command("activate")]);
    child.say({ command: "sync" });
    await host.started;
    const next = host.next();
    const acked = host.ack("m1");
    await clock.settle();
    expect(child.asked.slice(1)).toEqual([requests.command("next")]);
    child.say(emit(["a", 1], { id: "m2" }), emit(["b", 2]), { command: "sync" });
    await next;
    expect(host.emitted).toEqual([
      { stream: "words", values: { word: "a", at: 1 }, id: "m2" },
      { stream: "words", values: { word: "b", at: 2 } },
    ]);
    await clock.settle();
    expect(child.asked.slice(2)).toEqual([requests.command("ack", "m1")]);
    child.say({ command: "sync" });
    await acked;
    const failed = host.fail(7);
    await clock.settle();
    child.say(emit(["a", 1], { id: 7, need_task_ids: true }), { command: "sync" });
    await failed;
    expect(child.asked.slice(3)).toEqual([requests.command("fail", 7), [4, 5]]);
  });

  test("gets the command deactivate at an orderly end", async () => {
    const { child, clock, host } = await startSpout();
    child.say({ command: "sync" });
    await host.started;
    host.system.exit(host.pid, "shutdown");
    await clock.settle();
    expect(child.asked.slice(1)).toEqual([requests.command("deactivate")]);
    expect(child.signals).toEqual([]);
    child.say({ command: "sync" });
    expect((await host.ended).type).toBe("shutdown");
    expect(child.signals).toEqual(["SIGTERM"]);
  });

  test.each<[string, unknown[], string]>([
    ["answers what it was not asked", [{ command: "sync" }, { command: "sync" }], "had no command to answer"],
    [
      "emits while no command is in progress",
      [{ command: "sync" }, emit(["a", 1])],
      "emitted a tuple while no command was in progress",
    ],
    ["acks", [{ command: "ack", id: 1 }], "is a spout, and cannot ack"],
    ["emits on a stream it has not", [emit([], { stream: "dead" })], 'no stream "dead"'],
  ])("crashes its task when it %s", async (_text, messages, named) => {
    const started = await startSpout();
    started.child.say(...messages);
    const { problem, message } = await crashOf(started);
    expect(problem).toBe("protocol");
    expect(message).toContain(named);
  });

  test("crashes its task when it does not answer in time", async () => {
    const started = await startSpout({ timeoutMs: 700 });
    const { problem, message } = await crashOf(started);
    expect([problem, message]).toEqual([
      "timeout",
      "the program of shell (task 3) did not answer the command activate within 700 ms",
    ]);
  });
});

test.each<[string, object]>([
  ["command", { command: "" }],
  ["args", { args: "-u" }],
  ["env.A", { env: { A: 1 } }],
  ["cwd", { cwd: "" }],
  ["timeoutMs", { timeoutMs: 0 }],
  ["startTimeoutMs", { startTimeoutMs: -1 }],
  ["heartbeatMs", { heartbeatMs: 0 }],
  ["graceMs", { graceMs: Number.POSITIVE_INFINITY }],
  ["maxMessage", { maxMessage: 1.5 }],
  ["maxHeld", { maxHeld: 0 }],
  ["conf", { conf: [] }],
  ["onMetrics", { onMetrics: 1 }],
  ["config.tock", { config: { tock: 1 } }],
])("the option %s is checked", (path, wrong) => {
  const bolt = { command: "c", input: { text: field.text }, ...wrong };
  expect(() => shellBolt(bolt as never)).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  if (path === "heartbeatMs" || path === "maxHeld") return;
  expect(() => shellSpout({ command: "c", streams, ...wrong } as never)).toThrow(OptionError);
});
