// Real threads for tests. What they load is bundled with the library first, because threads load no TypeScript.

import { pathToFileURL } from "node:url";
import { type Pid, System } from "signalbox";
import { type Threads, type ThreadsOptions, threads } from "signalbox/nodes";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { Compiled } from "../../support/compiled.js";
import type { Order } from "./programs/workshop.js";

const FOLDER = "spec/node/threads/programs";

export interface Workshop {
  readonly system: System;
  /** URL of the program. */
  readonly program: string;
  /** Reasons with which threads ended. */
  readonly ends: unknown[];
  open(options?: Partial<ThreadsOptions>): Promise<Threads>;
  /** The number of the thread in which a hand runs. */
  where(hand: Pid<unknown> | string): Promise<number>;
}

/** A system for each test of a file. */
export function workshop(name: string, file = "workshop"): Workshop {
  let system: System;
  let ends: unknown[];
  let program: string;
  const compiled = new Compiled(name);
  beforeAll(async () => {
    await compiled.bundle(FOLDER, file);
    program = pathToFileURL(compiled.argsFor(`${FOLDER}/${file}.ts`).at(-1) as string).href;
  });
  afterAll(() => compiled.remove());
  beforeEach(() => {
    system = new System({ name: "main", report: false });
    ends = [];
    system.events.on("exit", ({ pid, reason }) => {
      if (pid.label?.startsWith("thread ")) ends.push(reason);
    });
  });
  afterEach(() => system.stop());
  return {
    get system() {
      return system;
    },
    get program() {
      return program;
    },
    get ends() {
      return ends;
    },
    open: (options = {}) => threads(system, { size: 2, program, ...options }),
    where: (hand) =>
      system.call<Order, Order, number>(hand as Pid<Order>, (replyTo) => ({ type: "where", replyTo })),
  };
}
