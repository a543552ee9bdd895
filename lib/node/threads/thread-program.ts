// The program of a thread: its own System, connected to those of the main thread and the other threads, and the programs that it offers.

import type { ErrorClass } from "../../host/payload/error-record.js";
import type { Callbacks } from "../../process/behaviour.js";
import { checked, fn, maybe } from "../../process/option-schema.js";
import { kernelOf } from "../../process/options.js";
import { System } from "../../system.js";
import { noteJobs } from "../cluster/job-board.js";
import { checkPrograms, type Programs, startStarter } from "../cluster/programs.js";
import { Sessions } from "../session/sessions.js";
import { type FromThread, PROGRAM, type ThreadStart, type ToThread } from "./control.js";
import { PortCarrier } from "./port-carrier.js";

/** Options of {@link threadProgram}. */
export interface ThreadProgramOptions {
  /** The programs that may be started in the thread, by name. */
  readonly programs: Programs;
  /**
   * Runs before any program is started in the thread. Open here what the programs share. `data` is the option of `threads`. When it throws, the thread
   * fails its start.
   */
  readonly onStart?: (system: System, data: unknown) => unknown;
  /** Classes of errors of yours that keep their class on their way to this thread. Default none. */
  readonly errors?: readonly ErrorClass[];
}

/** The default export of the module that `threads` loads in each thread. */
export interface ThreadProgram {
  /** The programs that may be started in the thread, by name. */
  readonly programs: Programs;
}

/**
 * Names the programs that may be started in a thread. The module that {@link threads} names exports the result by default.
 *
 * @throws OptionError
 * @example
 * const Picker = defineServer({
 *   init: (_ctx, from: number) => ({ next: from }),
 *   calls: { pick: (state) => state.next++ },
 * });
 * const program = threadProgram({ programs: { picker: Picker } }); // export default
 */
export function threadProgram(options: ThreadProgramOptions): ThreadProgram {
  const given = checked("", options, {
    programs: checkPrograms,
    onStart: maybe(fn<NonNullable<ThreadProgramOptions["onStart"]>>("a function of the system and the data")),
    errors: maybe((_path, value) => value as readonly ErrorClass[]),
  });
  const program: ThreadProgram = { programs: given.programs };
  Object.defineProperty(program, Symbol.for(PROGRAM), {
    value: (start: ThreadStart) => run(start, given),
  });
  return program;
}

/** The options as they were checked. */
interface CheckedProgram {
  readonly programs: Programs;
  readonly onStart: ThreadProgramOptions["onStart"] | undefined;
  readonly errors: readonly ErrorClass[] | undefined;
}

async function run(start: ThreadStart, options: CheckedProgram): Promise<void> {
  const { control, beats, beatMs, atWork, data, main } = start;
  const { programs, onStart, errors } = options;
  const system = new System({ name: start.name, context: start.context });
  noteJobs(kernelOf(system), atWork);
  const carrier = new PortCarrier();
  const sessions = new Sessions(system, carrier, { ...start.sessions, ...(errors && { errors }) });
  const tell = (message: FromThread): void => control.postMessage(message);
  control.on("message", (message: ToThread) => {
    if (message.type === "peer") carrier.add(message.node, message.line);
    else
      void system.stop({ timeoutMs: message.timeoutMs }).then(async () => {
        await sessions.close();
        tell({ type: "stopped" });
      });
  });
  carrier.add(main, start.line);
  system.spawn(new Heart(beats, beatMs), { label: "heart" });
  await onStart?.(system, data);
  const starter = startStarter(system, programs);
  tell({ type: "ready", node: system.node, starter: system.address(starter).id });
}

/** Increments the counter by which the owner sees that the event loop turns. */
class Heart implements Callbacks<"beat"> {
  readonly #beats: Int32Array;
  readonly #beatMs: number;
  readonly isHelper = true;
  readonly isLast = true;

  constructor(beats: Int32Array, beatMs: number) {
    this.#beats = beats;
    this.#beatMs = beatMs;
  }

  init(ctx: Parameters<NonNullable<Callbacks<"beat">["init"]>>[0]): void {
    ctx.sendInterval(ctx.self, "beat", this.#beatMs);
  }

  handle(): void {
    Atomics.add(this.#beats, 0, 1);
  }
}
