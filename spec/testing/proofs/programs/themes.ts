// What the random programs are drawn from. Each theme is a part of the public API whose features meet often.

import fc from "fast-check";
import type { FaultOptions, NetworkOptions } from "signalbox/testing";
import { NO_FAULTS, type Operation, type Operations, type Theme } from "./language.js";
import { EXITS, LOOKS, NAMES_AND_GROUPS } from "./lifecycle.js";
import { MESSAGES } from "./messages.js";
import { REQUESTS } from "./requests.js";
import { DISPATCH, SUPERVISION } from "./services.js";
import { DISK, NETWORK, WORLD } from "./world.js";

const ALL: Operations = {
  ...MESSAGES,
  ...EXITS,
  ...NAMES_AND_GROUPS,
  ...LOOKS,
  ...SUPERVISION,
  ...DISPATCH,
  ...WORLD,
  ...DISK,
};

function some(...names: readonly string[]): Operations {
  return Object.fromEntries(names.map((name) => [name, ALL[name] as Operation]));
}

const PLAIN = {
  faults: NO_FAULTS,
  network: fc.constant(undefined),
  mailboxes: ["unbounded"],
  schedules: 1_000,
  most: { procs: 3, script: 3, reaction: 2, scenario: 2 },
} as const;

const FAULTS: fc.Arbitrary<FaultOptions> = fc.constantFrom<FaultOptions[]>(
  { crash: { of: "system/a" } },
  { crash: { of: "system/a", reason: "kill" } },
  { crash: { of: "system/b", reason: "shutdown" } },
  { start: { of: "system/a" } },
  { pause: { of: "system/a", forMs: [10] } },
  { delay: { of: "system/*" } },
  { rush: {} },
);

const NETWORKS: fc.Arbitrary<NetworkOptions> = fc.constantFrom<NetworkOptions[]>(
  {},
  { latencyMs: [0, 10] },
  { drop: {} },
  { duplicate: { afterMs: [0] } },
  { reorder: {} },
  { partition: { forMs: [10] } },
  { partition: { forMs: [10], silent: true } },
  { noticeMs: [0, 10] },
);

export const THEMES: Readonly<Record<string, Theme>> = {
  messages: {
    ...PLAIN,
    operations: MESSAGES,
    kinds: ["body", "callbacks", "server"],
    mailboxes: ["unbounded", "unbounded", "unbounded", "reject", "drop-newest", "drop-oldest", "exit"],
  },
  exits: {
    ...PLAIN,
    operations: { ...EXITS, ...some("send", "call", "processes") },
    kinds: ["body", "callbacks", "server"],
  },
  names: {
    ...PLAIN,
    operations: {
      ...NAMES_AND_GROUPS,
      ...LOOKS,
      ...some("send", "kill", "exit", "spawn outside", "stop the system"),
    },
    kinds: ["body", "callbacks"],
    most: { procs: 4, script: 2, reaction: 2, scenario: 2 },
  },
  supervision: {
    ...PLAIN,
    operations: { ...SUPERVISION, ...some("kill", "exit") },
    kinds: ["supervisor", "supervisor", "dynamic", "callbacks", "body"],
    schedules: 400,
    most: { procs: 2, script: 2, reaction: 1, scenario: 2 },
  },
  dispatch: {
    ...PLAIN,
    operations: { ...DISPATCH, ...some("kill", "exit") },
    kinds: ["consumer", "consumer", "callbacks", "body"],
    most: { procs: 3, script: 1, reaction: 1, scenario: 2 },
  },
  world: {
    ...PLAIN,
    operations: { ...WORLD, ...DISK, ...some("send") },
    kinds: ["body", "callbacks"],
  },
  network: {
    ...PLAIN,
    operations: {
      ...NETWORK,
      ...some(
        "send",
        "call",
        "call with timeout",
        "ask",
        "receive",
        "link",
        "unlink",
        "monitor",
        "demonitor",
      ),
      ...some("exit", "exit signal", "kill", "trapExit", "await an exit", "stop the system", "sendAfter"),
    },
    kinds: ["body", "callbacks"],
    network: NETWORKS,
    most: { procs: 2, script: 2, reaction: 1, scenario: 2 },
  },
  requests: {
    ...PLAIN,
    operations: { ...REQUESTS, ...some("send") },
    kinds: ["body", "callbacks"],
    most: { procs: 3, script: 2, reaction: 1, scenario: 2 },
  },
  faults: {
    ...PLAIN,
    operations: { ...MESSAGES, ...EXITS, ...some("register", "whereis", "join", "members", "calm") },
    kinds: ["body", "callbacks", "server"],
    faults: FAULTS,
    most: { procs: 3, script: 3, reaction: 1, scenario: 1 },
  },
};
