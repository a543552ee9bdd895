// Finds state that a step uses without saying so. The raw fields of processes, calls, timers and of the kernel's tables are
// replaced by accessors, one object at a time. At the end of each step, whatever it used that is not its own has to be in its
// footprint: see the table in lib/process/shared-state.ts.

import type { Simulation } from "signalbox/testing";
import type { WatchedProcess } from "../../../lib/process/intercepted.js";
import type { Kernel } from "../../../lib/process/kernel.js";
import { OwnedTimer } from "../../../lib/process/owned-timer.js";
import { Pid } from "../../../lib/process/pid.js";
import { Request } from "../../../lib/process/request.js";
import type { SimulatedTask } from "../../../lib/testing/simulator/tasks.js";

/**
 * The fields of a process, with the prefixes of the keys that stand for each: one of them has to be in the footprint. `A` is a
 * written key `a`: it conflicts with whatever uses the links.
 */
const OF_PROCESS: { readonly [field: string]: string } = {
  links: "lA",
  trapping: "lA",
  watchers: "a",
  watching: "am",
  requests: "a",
  timers: "a",
  pendingReceive: "a",
  handled: "a",
  behaviour: "a",
  exitReason: "a",
  state: "am",
  rare: "amx",
  first: "m",
  ring: "m",
  mixed: "m",
};

/** The fields of a kernel, with their keys. */
const OF_KERNEL: { readonly [field: string]: string } = {
  newest: "p",
  population: "p",
  stopped: "s",
  stopping: "s",
};

/** What the instrument uses of the simulator's insides. */
interface Insides {
  readonly footprints: { readonly reads: ReadonlySet<string>; readonly writes: ReadonlySet<string> };
  perform(task: SimulatedTask): void;
  ended(task: SimulatedTask | undefined): void;
  readonly interceptor: {
    born(process: WatchedProcess): void;
    keyOf(pid: Pid): string;
  };
  readonly code: { keyOfObject(object: object): string };
}

/** The number of the pids that stand for no process. */
const OUTSIDE = 0;

interface Use {
  readonly what: string;
  readonly keys: readonly string[];
  readonly stack: string;
}

/** Calls `used` before each access of a field. */
function guard(holder: object, field: string, used: () => void): void {
  let value: unknown = Reflect.get(holder, field);
  Object.defineProperty(holder, field, {
    configurable: true,
    enumerable: true,
    get: () => {
      used();
      return value;
    },
    set: (next: unknown) => {
      used();
      value = next;
    },
  });
}

/** The same for each entry of a Map. */
function guardEntries(map: Map<string, unknown>, used: (key: string) => void): void {
  for (const name of ["get", "has", "set", "delete"] as const) {
    const real = map[name].bind(map) as (key: string, ...rest: unknown[]) => unknown;
    Object.defineProperty(map, name, {
      value: (key: string, ...rest: unknown[]) => {
        used(key);
        return real(key, ...rest);
      },
    });
  }
}

/** The steps of one schedule. */
class Ledger {
  private readonly world: Insides;
  private readonly found: Map<string, string>;
  private readonly known = new WeakSet<object>();
  private task: SimulatedTask | undefined = undefined;
  private uses = new Map<string, Use>();
  private newborn = new Set<object>();

  constructor(world: Insides, found: Map<string, string>) {
    this.world = world;
    this.found = found;
    const { interceptor, code } = world;
    const [perform, ended] = [world.perform.bind(world), world.ended.bind(world)];
    const [born, keyOfObject] = [interceptor.born.bind(interceptor), code.keyOfObject.bind(code)];
    world.perform = (task) => {
      this.task = task;
      perform(task);
    };
    world.ended = (task) => {
      this.check();
      ended(task);
    };
    interceptor.born = (process) => {
      born(process);
      this.newborn.add(process);
      this.watchProcess(process);
    };
    code.keyOfObject = (object) => {
      const key = keyOfObject(object);
      if (!this.known.has(object)) {
        this.known.add(object);
        this.newborn.add(object);
        const used = (what: string) => (): void => {
          if (!this.newborn.has(object)) this.use(what, [key]);
        };
        if (object instanceof Request) guard(object, "status", used("Request.status"));
        else if (object instanceof OwnedTimer) guard(object, "timer", used("OwnedTimer.timer"));
      }
      return key;
    };
  }

  watchKernel(kernel: Kernel): void {
    if (this.known.has(kernel)) return;
    this.known.add(kernel);
    const { id } = kernel.node;
    for (const [field, prefix] of Object.entries(OF_KERNEL))
      guard(kernel, field, () => this.use(`Kernel.${field}`, [`${prefix}:${id}`]));
    guard(kernel.events, "lostMessages", () => this.use("SystemEvents.lostMessages", [`d:${id}`]));
    guard(kernel.events, "wants", () => this.use("SystemEvents.wants", [`e:${id}`]));
    guardEntries(Reflect.get(kernel.names, "holders"), (name) =>
      this.use("Names.holders", [`n:${id}/${name}`]),
    );
    guardEntries(Reflect.get(kernel.groups, "groups"), (name) =>
      this.use("Groups.groups", [`g:${id}/${name}`]),
    );
  }

  /** The running code asks whether a process is alive. */
  asked(pid: Pid, process: WatchedProcess | undefined): void {
    if (pid.id === OUTSIDE || (process !== undefined && this.isOwn(process))) return;
    const key = this.world.interceptor.keyOf(pid);
    this.use("Pid.process", [`a:${key}`, `m:${key}`]);
  }

  private watchProcess(process: WatchedProcess): void {
    const key = this.world.interceptor.keyOf(process.pid);
    for (const [field, prefixes] of Object.entries(OF_PROCESS)) {
      const keys = [...prefixes].map((prefix) => `${prefix}:${key}`);
      guard(process, field, () => {
        if (!this.isOwn(process)) this.use(`Process.${field}`, keys);
      });
    }
    this.watchName(process, key);
  }

  /** Others may name a process while it names itself, so its own steps have to declare this, too. */
  private watchName(process: WatchedProcess, key: string): void {
    const extras = process.extras;
    guard(extras, "name", () => {
      if (!this.newborn.has(process)) this.use("Rare.name", [`x:${key}`, `A:${key}`]);
    });
  }

  /** A process's own steps read the key of its life. */
  private isOwn(process: WatchedProcess): boolean {
    const { task } = this;
    return (
      this.newborn.has(process) ||
      ((task?.kind === "run" || task?.kind === "resume") && task.owner.process === process)
    );
  }

  private use(what: string, keys: readonly string[]): void {
    if (this.task === undefined) return;
    const use = `${what} ${keys[0]}`;
    if (this.uses.has(use)) return;
    const stack = (new Error().stack ?? "").split("\n").filter((line) => !line.includes("undeclared.ts"));
    // The simulator and the checks of the test look at what they like.
    if (/\/lib\/testing\//.test(stack[1] ?? "")) return;
    this.uses.set(use, { what, keys, stack: stack.slice(1, 6).join("\n") });
  }

  private check(): void {
    const { reads, writes } = this.world.footprints;
    const { task } = this;
    this.task = undefined;
    for (const { what, keys, stack } of this.uses.values()) {
      const isDeclared = (key: string): boolean =>
        key.startsWith("A") ? writes.has(`a${key.slice(1)}`) : reads.has(key) || writes.has(key);
      if (keys.some(isDeclared)) continue;
      const place = `${what} in a step of kind ${task?.kind}`;
      if (!this.found.has(place))
        this.found.set(place, `${place}: none of ${keys.join(", ")} is declared\n${stack}`);
    }
    this.uses = new Map();
    this.newborn = new Set();
  }
}

/** What the steps of a search used without declaring it, each use once. */
export class Undeclared {
  readonly found: Map<string, string> = new Map();
  private ledger: Ledger | undefined = undefined;

  /** Watches the systems of a schedule. Called at its beginning. */
  watch(sim: Simulation): void {
    this.ledger = undefined;
    const create = sim.system.bind(sim);
    sim.system = (options) => {
      const system = create(options);
      const { interception } = system.kernel;
      this.ledger ??= new Ledger(Reflect.get(interception as object, "world") as Insides, this.found);
      this.ledger.watchKernel(system.kernel);
      return system;
    };
  }

  /** Watches pids while `work` runs. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const real = Object.getOwnPropertyDescriptor(Pid.prototype, "process") as PropertyDescriptor;
    const ledger = (): Ledger | undefined => this.ledger;
    Object.defineProperty(Pid.prototype, "process", {
      ...real,
      get(this: Pid) {
        const process: WatchedProcess | undefined = real.get?.call(this);
        ledger()?.asked(this, process);
        return process;
      },
    });
    try {
      return await work();
    } finally {
      Object.defineProperty(Pid.prototype, "process", real);
      this.ledger = undefined;
    }
  }
}
