// The one place where the library says which shared state the running code reads and changes.
//
// A simulator that searches all schedules skips the orders of steps that share nothing, so it has to know all that a step
// shares with others. Code that reads or changes a state of no process, or of another process, declares it here, before the
// access. Two steps conflict if one writes a key that the other reads or writes. Where changes commute, such as additions to a
// count, the changes are declared as reads of the key, and a look at the result as a write: then two changes do not conflict.
//
// Only a kernel under an exhaustive search has a SharedState, so everywhere else an access costs one look at a field:
//
//     kernel.shared?.name(name, "write");
//
// | key           | state                                                    | read by                   | written by                    |
// |---------------|----------------------------------------------------------|---------------------------|-------------------------------|
// | `a:process`   | its life, and all that only its own steps use            | its steps, uses of its pid| its end, a look at or change of its insides by others |
// | `l:process`   | its links, and whether it traps exits                    |                           | link, unlink, trapExit, exit signals |
// | `w:process`   | the replies that it waits for                            | calls to it               | its calls, and their ends     |
// | `x:process`   | the name that it has                                     |                           | register, unregister, exit    |
// | `k:process`   | the order of its children                                |                           | spawn                         |
// | `m:process`   | its mailbox, and the promises settled for it             | the end of a receive      | sends; takes where the content matters |
// | `o:object`    | a call, a timer: open or ended                           | asking whether it is open | its ends                      |
// | `o:object/…`  | one key of a registry; a partition; `*` all of a registry | looking it up            | register, unregister, exit    |
// | `n:name`      | the holder of a name                                     | looking it up             | register, unregister, exit    |
// | `g:group`     | members and monitors of a process group                  | asking for the members    | join, leave, monitors, exit   |
// | `r:`          | the order of the processes that no process has started   |                           | spawn                         |
// | `p:`          | which processes are alive                                | spawn, exit               | counting or listing them      |
// | `P:`          | the order of all processes, if any code sees it          | listing them              | spawn                         |
// | `d:`          | the numbers of dead letters and of discarded replies     | one more of them          | asking for a number           |
// | `s:`          | whether the system stops or has stopped                  | spawns, calls, waits      | stopping                      |
// | `e:`          | the listeners of events, and effects of listeners, sinks | an event without listener | an event with one, on, off    |
// | `abort`       | AbortSignals                                             | a wait that has one       | AbortController.abort         |
// | others        | the floors above: see {@link SharedState.of}             |                           |                               |

import type { Pid, RemoteNode } from "./pid.js";
import { WatchedGroups, WatchedNames } from "./watched-names.js";

/** How a step used something. Two steps that only read the same thing can swap places. */
export type Access = "read" | "write";

/** The record that a search makes of each step. */
export interface StepRecord {
  /** The running code read or changed something that processes share. The keys are those of {@link SharedState}. */
  touched(key: string, access: Access): void;
  /** Stands for a process in keys. It does not depend on what other processes do. */
  keyOf(pid: Pid): string;
  /** The running code adds a process to a system (`write`), or sees the order in which all were added (`read`). */
  spawnOrder(node: string, access: Access): void;
  /** The key of an object that its creator has made known by asking for the key first. */
  keyOfObject(object: object): string;
}

/**
 * The shared state of the search that runs in this thread. Objects that belong to no system, such as consumer groups, have no
 * kernel to ask.
 */
export const search: { shared: SharedState | undefined } = { shared: undefined };

export class SharedState {
  readonly #record: StepRecord;
  readonly #node: string;

  constructor(record: StepRecord, node: RemoteNode) {
    this.#record = record;
    this.#node = node.id;
  }

  /** Names of a system that declare their uses. */
  names(): WatchedNames {
    return new WatchedNames(this);
  }

  /** Groups of a system that declare their uses. */
  groups(): WatchedGroups {
    return new WatchedGroups(this);
  }

  /** The life of a process, and everything that only its own steps use. A process's own steps read it. */
  process(pid: Pid, access: Access): void {
    this.#record.touched(`a:${this.#record.keyOf(pid)}`, access);
  }

  /** The links of a process, and whether it traps exits. */
  links(pid: Pid): void {
    this.#record.touched(`l:${this.#record.keyOf(pid)}`, "write");
  }

  /** The replies that a process waits for. */
  waits(pid: Pid, access: Access): void {
    this.#record.touched(`w:${this.#record.keyOf(pid)}`, access);
  }

  mailbox(pid: Pid, access: Access): void {
    this.#record.touched(`m:${this.#record.keyOf(pid)}`, access);
  }

  /** The name that a process has. */
  nameOf(pid: Pid): void {
    this.#record.touched(`x:${this.#record.keyOf(pid)}`, "write");
  }

  /** A process is added: to all, and to the children of its parent or to those that no process has started. */
  spawned(parent: Pid | undefined): void {
    this.stopping("read");
    this.#record.touched(`p:${this.#node}`, "read");
    this.#record.touched(
      parent === undefined ? `r:${this.#node}` : `k:${this.#record.keyOf(parent)}`,
      "write",
    );
    this.#record.spawnOrder(this.#node, "write");
    this.listeners("read");
  }

  /** A process has ended. It looks for its name to give it back, and others may have taken the name. */
  ended(pid: Pid): void {
    this.nameOf(pid);
    this.#record.touched(`p:${this.#node}`, "read");
    this.listeners("read");
  }

  /** Code counts or lists the processes. */
  counted(): void {
    this.#record.touched(`p:${this.#node}`, "write");
  }

  /** Code goes through all processes in the order in which they were added. */
  listed(): void {
    this.counted();
    this.#record.spawnOrder(this.#node, "read");
  }

  /** The processes that no process has started stop in their order. */
  listedRoots(): void {
    this.counted();
    this.#record.touched(`r:${this.#node}`, "read");
  }

  /** A call, a timer or another object that ends once. It is made known by the step that creates it. */
  object(object: object, access: Access): void {
    this.#record.touched(this.#record.keyOfObject(object), access);
  }

  /** Names an object: later on, its key must not depend on who touches it first. */
  created(object: object): void {
    this.#record.keyOfObject(object);
  }

  /** One part of an object that has many, such as a key of a registry. */
  part(object: object, part: string, access: Access): void {
    this.#record.touched(`${this.#record.keyOfObject(object)}/${part}`, access);
  }

  name(name: string, access: Access): void {
    this.#record.touched(`n:${this.#node}/${name}`, access);
  }

  group(name: string, access: Access): void {
    this.#record.touched(`g:${this.#node}/${name}`, access);
  }

  deadLetter(): void {
    this.#record.touched(`d:${this.#node}`, "read");
    this.listeners("read");
  }

  deadLettersCounted(): void {
    this.#record.touched(`d:${this.#node}`, "write");
  }

  stopping(access: Access): void {
    this.#record.touched(`s:${this.#node}`, access);
  }

  /** The listeners of the system's events and the sink of its reports. They are the user's code, and may share memory. */
  listeners(access: Access): void {
    this.#record.touched(`e:${this.#node}`, access);
  }

  /** An AbortSignal limits a wait. One key for all: a signal may depend on others. */
  signals(): void {
    this.#record.touched("abort", "read");
  }

  /**
   * State of a floor above. The prefix of the key says which: `c:` a consumer group, `t:` a task of a topology, `l:` the load of
   * one; in the simulator `disk:` a file, `net:` a connection, `u:` a key of `sim.touch`.
   */
  of(key: string, access: Access): void {
    this.#record.touched(key, access);
  }
}
