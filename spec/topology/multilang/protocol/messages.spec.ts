// What either side may say, part by part; what is wrong is named.

import { describe, expect, test } from "vitest";
import { field } from "../../../../lib/topology/definition/field.js";
import { parseComponentMessage } from "../../../../lib/topology/multilang/protocol/component-messages.js";
import { MultilangError } from "../../../../lib/topology/multilang/protocol/errors.js";
import { streamOf, toArray, toValues } from "../../../../lib/topology/multilang/protocol/fields.js";
import {
  parseHandshake,
  parseHostMessage,
  requests,
} from "../../../../lib/topology/multilang/protocol/host-messages.js";

describe("a component", () => {
  test("emits with as little as a tuple: then it waits for task ids", () => {
    expect(parseComponentMessage({ command: "emit", tuple: ["a", 1] })).toEqual({
      type: "emit",
      values: ["a", 1],
      stream: undefined,
      id: undefined,
      anchors: [],
      task: undefined,
      needTaskIds: true,
    });
  });

  test("emits with everything", () => {
    expect(
      parseComponentMessage({
        command: "emit",
        tuple: [],
        stream: "words",
        id: 7,
        anchors: ["1", 2],
        task: 3,
        need_task_ids: false,
      }),
    ).toEqual({
      type: "emit",
      values: [],
      stream: "words",
      id: 7,
      anchors: ["1", 2],
      task: 3,
      needTaskIds: false,
    });
  });

  test("says null for what it leaves out, and task 0 for no task", () => {
    const nothing = { stream: null, id: null, anchors: null, task: null, need_task_ids: null };
    const plain = parseComponentMessage({ command: "emit", tuple: [1] });
    expect(parseComponentMessage({ command: "emit", tuple: [1], ...nothing })).toEqual(plain);
    expect(parseComponentMessage({ command: "emit", tuple: [1], task: 0 })).toEqual(plain);
  });

  test("acks, fails, logs, tells errors and metrics, and answers", () => {
    expect(parseComponentMessage({ command: "ack", id: "1" })).toEqual({ type: "ack", id: "1" });
    expect(parseComponentMessage({ command: "fail", id: 1 })).toEqual({ type: "fail", id: 1 });
    expect(parseComponentMessage({ command: "error", msg: "no" })).toEqual({ type: "error", text: "no" });
    expect(parseComponentMessage({ command: "sync" })).toEqual({ type: "sync" });
    expect(parseComponentMessage({ pid: 12 })).toEqual({ type: "pid", pid: 12 });
    expect(parseComponentMessage({ command: "metrics", name: "n", params: [1] })).toEqual({
      type: "metrics",
      name: "n",
      params: [1],
    });
  });

  test.each([
    [0, "trace"],
    [1, "debug"],
    [2, "info"],
    [3, "warn"],
    [4, "error"],
    [undefined, "info"],
  ])("logs at level %s, which is %s", (level, name) => {
    expect(parseComponentMessage({ command: "log", msg: "a", level })).toEqual({
      type: "log",
      text: "a",
      level: name,
    });
  });

  test.each([
    [{ command: "emmit" }, "command", "emmit"],
    [{}, "command", "undefined"],
    [[1], "shape", "a component's message"],
    ["sync", "shape", "a JSON object"],
    [{ command: "emit" }, "shape", "tuple of emit"],
    [{ command: "emit", tuple: {} }, "shape", "tuple of emit"],
    [{ command: "emit", tuple: [], anchors: "1" }, "shape", "anchors of emit"],
    [{ command: "emit", tuple: [], anchors: [[]] }, "shape", "an anchor of emit"],
    [{ command: "emit", tuple: [], task: "3" }, "shape", "task of emit"],
    [{ command: "emit", tuple: [], need_task_ids: "no" }, "shape", "need_task_ids of emit"],
    [{ command: "emit", tuple: [], stream: 1 }, "shape", "stream of emit"],
    [{ command: "ack" }, "shape", "id of ack"],
    [{ command: "fail", id: 2 ** 60 }, "shape", "2^53"],
    [{ command: "log", msg: 1 }, "shape", "msg of log"],
    [{ command: "log", msg: "a", level: 5 }, "shape", "level of log"],
    [{ command: "error" }, "shape", "msg of error"],
    [{ command: "metrics" }, "shape", "name of metrics"],
    [{ pid: "12" }, "shape", "pid"],
  ])("may not say %j", (message, problem, named) => {
    expect(() => parseComponentMessage(message)).toThrow(MultilangError);
    expect(() => parseComponentMessage(message)).toThrow(
      expect.objectContaining({ problem, message: expect.stringContaining(named) }),
    );
  });
});

describe("a host", () => {
  const context = { "task->component": { 1: "a", 2: "b", 3: "a" }, taskid: 3, componentid: "a" };

  test("begins with a handshake", () => {
    const fields = { b: { words: ["word"] } };
    const handshake = {
      conf: { x: 1 },
      pidDir: "/p",
      context: {
        ...context,
        "source->stream->fields": fields,
        "stream->target->grouping": { words: { c: { type: "SHUFFLE" } }, dead: {} },
      },
    };
    expect(parseHandshake(handshake)).toEqual({
      type: "handshake",
      conf: { x: 1 },
      pidDir: "/p",
      component: "a",
      task: 3,
      tasks: new Map([
        [1, "a"],
        [2, "b"],
        [3, "a"],
      ]),
      sourceFields: fields,
      read: new Set(["words"]),
    });
    expect(parseHandshake({ pidDir: "/p", context }).sourceFields).toEqual({});
  });

  test.each([
    [{ context }, "pidDir"],
    [{ pidDir: "/p" }, "context"],
    [{ pidDir: "/p", context: { taskid: 1 } }, "componentid"],
    [{ pidDir: "/p", context: { ...context, taskid: "1" } }, "taskid"],
    [
      { pidDir: "/p", context: { ...context, "source->stream->fields": { a: { b: "c" } } } },
      "source->stream->fields",
    ],
  ])("may not begin with %j", (message, named) => {
    expect(() => parseHandshake(message)).toThrow(named);
  });

  test("sends tuples, ticks, heartbeats, task ids and commands", () => {
    expect(parseHostMessage(requests.tuple("1", "b", "words", 2, ["w"]))).toEqual({
      type: "tuple",
      id: "1",
      component: "b",
      stream: "words",
      task: 2,
      values: ["w"],
    });
    expect(parseHostMessage(requests.tick("9"))).toEqual({ type: "tick", id: "9" });
    expect(parseHostMessage(requests.heartbeat())).toEqual({ type: "heartbeat" });
    expect(parseHostMessage([4, 5])).toEqual({ type: "tasks", tasks: [4, 5] });
    expect(parseHostMessage(requests.command("next"))).toEqual({
      type: "command",
      command: "next",
      id: undefined,
    });
    expect(parseHostMessage(requests.command("ack", 7))).toEqual({ type: "command", command: "ack", id: 7 });
  });

  test.each([
    [{ command: "stop" }, "next, ack, fail, activate, deactivate"],
    [{ command: "ack" }, "id of ack"],
    [{ id: 1, comp: "a", stream: "b", task: 1 }, "tuple of a tuple"],
    [{ id: 1, comp: null, stream: "b", task: 1, tuple: [] }, "comp of a tuple"],
    [{ comp: "a", stream: "b", task: 1, tuple: [] }, "id of a tuple"],
    [["1"], "a task id"],
  ])("may not send %j", (message, named) => {
    expect(() => parseHostMessage(message)).toThrow(named);
  });
});

describe("a tuple on the wire", () => {
  const words = { word: field.text, seen: field.number };

  test("is an array in the order of the fields", () => {
    expect(toArray(words, { seen: 2, word: "a", more: true })).toEqual(["a", 2]);
    expect(toArray(words, {})).toEqual([null, null]);
    expect(toValues("stream words", words, ["a", 2])).toEqual({ word: "a", seen: 2 });
  });

  test("is checked, field by field", () => {
    expect(() => toValues("stream words", words, ["a"])).toThrow(
      "stream words must have 2 values (word, seen)",
    );
    expect(() => toValues("stream words", words, ["a", "2"])).toThrow(
      'field seen of stream words must be a number; got "2"',
    );
  });

  test("goes to the stream that it names, or to the one there is", () => {
    expect(streamOf({ words }, undefined).name).toBe("words");
    expect(streamOf({ words, default: {} }, undefined).name).toBe("default");
    expect(streamOf({ words, lines: {} }, "lines").name).toBe("lines");
    expect(() => streamOf({ words, lines: {} }, undefined)).toThrow(
      'no stream "default"; declared are: words, lines',
    );
    expect(() => streamOf({}, "x")).toThrow('no stream "x"; declared are: none');
  });
});
