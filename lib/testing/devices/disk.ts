// The disk of a simulated host, as code uses it: promises, errors with the codes of Node, and sometimes a power loss.
// disk-contents.ts decides what the disk holds and what a power loss leaves.

import { OptionError, SignalboxError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, flag, text } from "../../process/options.js";
import * as machine from "./disk-contents.js";

/** The connection of a disk to the simulator. */
export interface DiskPort {
  /** Returns a number from 0 to `n` - 1, where 0 is the ordinary outcome; `n` is at least 2. Labels begin with `disk:`. */
  choose(n: number, label: string): number;
  /** Calls `fn`, which settles a promise, in a step of its own. */
  settle(fn: () => void): void;
  /**
   * The current step reads or writes `key`: `disk:<file>` is a file, `disk:` is the directory, and `disk` is the whole disk. Each
   * step of each operation reads `disk`; a power loss and a sync of everything write it.
   */
  touched(key: string, how: "read" | "write"): void;
  /** Adds an event to the report, such as `append 5 bytes to log`. Absent when the schedule runs without a report. */
  readonly noted?: (text: string) => void;
  /** The operations that may fail. An operation that may not fail asks for no choice. By default none may fail. */
  readonly failures?: {
    /** Whether a write may fail with `ENOSPC`. */
    readonly write?: boolean;
    /** Whether a sync may fail with `EIO`. */
    readonly sync?: boolean;
    /** Whether a read may fail with `EIO`. */
    readonly read?: boolean;
  };
}

/** Options of a {@link SimulatedDisk}. */
export interface DiskOptions {
  /**
   * Size of the blocks that a power loss leaves whole, counted from the beginning of the file. Default 1: a write may tear
   * anywhere. Disks promise 512.
   */
  readonly sector?: number;
  /**
   * Whether changes become durable in their order: after a power loss the changes up to some point are there, the next one may be
   * torn, and all later ones are lost. Default false: each change has its own fate.
   */
  readonly ordered?: boolean;
  /**
   * Whether names become durable in their order, and the sync of a file covers all earlier changes of names, as on ext4. Default
   * false: a name is durable only after {@link SimulatedDisk.syncDirectory}, as in POSIX.
   */
  readonly journaled?: boolean;
}

/** `EIO`: the disk could not read or sync. `ENOENT`: there is no such file. `ENOSPC`: the disk is full. */
export type DiskFaultCode = "EIO" | "ENOENT" | "ENOSPC";

/** Number and text that Linux has for a code. */
const CODES: { readonly [code in DiskFaultCode]: readonly [errno: number, text: string] } = {
  EIO: [-5, "i/o error"],
  ENOENT: [-2, "no such file or directory"],
  ENOSPC: [-28, "no space left on device"],
};

/** An operation of a {@link SimulatedDisk} failed. Has the fields of Node's file system errors. */
export class DiskFault extends SignalboxError {
  static override readonly name: string = "DiskFault";
  /** The kind of fault. */
  readonly code: DiskFaultCode;
  /** The number of the code in Linux, negative, as in Node. */
  readonly errno: number;
  /** Name of the system call that failed, such as `open`, `read`, `write` or `fsync`. */
  readonly syscall: string;
  /** The file; undefined when the sync was for all files. */
  readonly path: string | undefined;
  constructor(code: DiskFaultCode, syscall: string, path?: string) {
    const [errno, meaning] = CODES[code];
    super(`${code}: ${meaning}, ${syscall}${path === undefined ? "" : ` '${path}'`}`);
    this.code = code;
    this.errno = errno;
    this.syscall = syscall;
    this.path = path;
  }
}

/**
 * The power failed during an operation of a `SimulatedDisk`. The operation may have happened or not.
 *
 * @remedy Recover as after a real power loss: open the files again and check what is durable.
 */
export class PowerLossError extends SignalboxError {
  static override readonly name: string = "PowerLossError";
  readonly code = "ERR_POWER_LOSS";
  /** The generation of the disk in which the operation began. */
  readonly generation: number;
  constructor(generation: number) {
    super(
      `the power was lost (generation ${generation} of the disk) before the operation was done; start again from what the disk holds`,
    );
    this.generation = generation;
  }
}

export const DISK_OPTIONS: readonly (keyof DiskOptions)[] = ["sector", "ordered", "journaled"];

/**
 * A disk that loses unsynced changes in a power loss: one flat directory, in memory.
 *
 * An operation takes effect when it is called, in the order of calls; its promise is settled in a step of its own. Only a sync
 * differs: it covers the changes before the call, and nothing is durable before its promise is fulfilled. {@link sync} makes the
 * content of a file durable. The name of a file that was created, renamed or removed is durable only after
 * {@link syncDirectory}, as in fsync(2).
 *
 * - A write may fail with `ENOSPC`; a part of it may have been written.
 * - A read may fail with `EIO`, and succeed the next time.
 * - A sync may fail with `EIO`. Reads still see the changes that it covered, but no later sync makes them durable: write them
 *   again and sync (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).
 * - {@link crash} is a power loss.
 *
 * An offset, length or size that is not a whole number rejects with an OptionError. A missing file rejects with a
 * {@link DiskFault} of code `ENOENT`.
 *
 * @example
 * const disk = new SimulatedDisk({ choose: () => 0, settle: (fn) => fn(), touched: () => undefined });
 * await disk.append("log", new TextEncoder().encode("paid;"));
 * await disk.sync("log");
 * await disk.syncDirectory();
 * const losses = disk.crash(); // none: all was synced
 * console.log(losses, await disk.read("log"));
 */
export class SimulatedDisk {
  readonly #port: DiskPort;
  #disk: machine.Disk;
  #generation = 0;

  /** @throws OptionError unless the sector is a whole number of at least 1, and the other options are booleans */
  constructor(port: DiskPort, options: DiskOptions = {}) {
    only("disk", options, DISK_OPTIONS);
    this.#port = port;
    this.#disk = machine.emptyDisk({
      sector: count("sector", options.sector ?? 1, 1),
      ordered: flag("ordered", options.ordered ?? false),
      journaled: flag("journaled", options.journaled ?? false),
    });
  }

  /** Number of power losses so far. */
  get generation(): number {
    this.#port.touched("disk", "read");
    return this.#generation;
  }

  /** Reads `length` bytes from `offset`, fewer at the end of the file. By default reads the whole file. */
  read(file: string, offset = 0, length?: number): Promise<Uint8Array> {
    return this.#operate(() => {
      count("offset", offset, 0);
      const end = length === undefined ? undefined : offset + count("length", length, 0);
      const bytes = this.#content(file, "open");
      this.#note(`read ${file}`);
      if (this.#fails("read", file)) throw new DiskFault("EIO", "read", file);
      const copy = bytes.slice(offset, end);
      return () => copy;
    });
  }

  /** Writes bytes at `offset`, over the present ones, without truncation. Creates a missing file, and fills a gap with zeros. */
  write(file: string, offset: number, bytes: Uint8Array): Promise<void> {
    return this.#operate(() => this.#write(file, count("offset", offset, 0), bytes));
  }

  /** Appends bytes. Creates a missing file. */
  append(file: string, bytes: Uint8Array): Promise<void> {
    return this.#operate(() => this.#write(file, "end", bytes));
  }

  /** Shortens the file to `size` bytes, or extends it with zeros. */
  truncate(file: string, size = 0): Promise<void> {
    return this.#operate(() => {
      count("size", size, 0);
      this.#touchFile(file, "write");
      this.#note(`truncate ${file} to ${size} bytes`);
      return this.#done(machine.truncate(this.#disk, file, size), "open", file);
    });
  }

  /** Removes the file from the directory. */
  remove(file: string): Promise<void> {
    return this.#operate(() => {
      this.#touchFile(file, "write");
      this.#touchDirectory("write");
      this.#note(`remove ${file}`);
      return this.#done(machine.remove(this.#disk, file), "unlink", file);
    });
  }

  /** Renames a file atomically and replaces a file of the new name: after a power loss there is one or the other. */
  rename(from: string, to: string): Promise<void> {
    return this.#operate(() => {
      this.#touchFile(from, "write");
      this.#touchFile(to, "write");
      this.#touchDirectory("write");
      this.#note(`rename ${from} to ${to}`);
      return this.#done(machine.rename(this.#disk, from, to), "rename", from);
    });
  }

  /** The names of all files, sorted. */
  list(): Promise<string[]> {
    return this.#operate(() => {
      this.#touchDirectory("read");
      const names = machine.names(this.#disk);
      return () => names;
    });
  }

  /** The size of a file in bytes. */
  size(file: string): Promise<number> {
    return this.#operate(() => {
      const { length } = this.#content(file, "stat");
      return () => length;
    });
  }

  /** Makes the content of a file durable, like fsync of the file. */
  sync(file: string): Promise<void> {
    return this.#operate(() => {
      const sync = machine.syncOf(this.#disk, text("file", file));
      return this.#sync(sync, `disk:${file}`, file);
    });
  }

  /** Makes the names of files durable, like fsync of the directory. */
  syncDirectory(): Promise<void> {
    return this.#operate(() => this.#sync(machine.syncOfAll(this.#disk, "directory"), "disk:"));
  }

  /** Makes all names and contents durable. */
  syncAll(): Promise<void> {
    return this.#operate(() => this.#sync(machine.syncOfAll(this.#disk, "everything"), "disk"));
  }

  /**
   * A power loss. Each unsynced change survives with even odds. Otherwise it is lost, is torn, or leaves zeros where it extended
   * the file. Choice 0 is that the change survives. Operations in flight reject with a {@link PowerLossError} when their turn
   * comes. The disk can be used again at once by the code that starts next.
   *
   * @returns one line for each change that did not survive whole
   */
  crash(): readonly string[] {
    this.#port.touched("disk", "write");
    const [left, losses] = machine.crash(this.#disk, (n, label) => this.#port.choose(n, label));
    this.#disk = left;
    this.#generation++;
    for (const loss of losses) this.#note(`power loss: ${loss}`);
    return losses;
  }

  /** Begins an operation now. Ends it with the function that `begin` returned, in a step of its own. */
  #operate<T>(begin: () => () => T): Promise<T> {
    const generation = this.#generation;
    this.#port.touched("disk", "read");
    let end: () => T;
    try {
      end = begin();
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      this.#note(`fails with ${error.message}`);
      end = () => {
        throw error;
      };
    }
    const promise = new Promise<T>((resolve, reject) => {
      this.#port.settle(() => {
        this.#port.touched("disk", "read");
        if (generation === this.#generation) {
          try {
            resolve(end());
          } catch (error) {
            reject(error);
          }
          return;
        }
        this.#note("the operation is cut off by the power loss");
        // The code that would have awaited the promise died in the power loss, so its rejection must not count as unhandled.
        promise.catch(() => undefined);
        reject(new PowerLossError(generation));
      });
    });
    return promise;
  }

  #write(file: string, offset: number | "end", bytes: Uint8Array): () => void {
    if (!(bytes instanceof Uint8Array)) throw new OptionError("bytes", bytes, "a Uint8Array");
    this.#touchFile(file, "write");
    if (machine.content(this.#disk, file) === undefined) this.#touchDirectory("write");
    const written = this.#room(file, bytes.length);
    const what =
      offset === "end"
        ? `append ${bytes.length} bytes to ${file}`
        : `write ${bytes.length} bytes at ${offset} of ${file}`;
    this.#note(written < bytes.length ? `${what}: only ${written} fit` : what);
    // Copied: the caller may change its bytes after the call.
    this.#disk = machine.write(this.#disk, file, offset, Uint8Array.from(bytes.subarray(0, written)));
    if (written < bytes.length) throw new DiskFault("ENOSPC", "write", file);
    return () => undefined;
  }

  /** How many of `length` bytes are written. After a partial failure, choice 0 is the largest part. */
  #room(file: string, length: number): number {
    if (this.#port.failures?.write !== true || length === 0) return length;
    const how = this.#port.choose(length > 1 ? 3 : 2, `disk:write ${file}`);
    if (how < 2) return how === 0 ? length : 0;
    return length === 2 ? 1 : length - 1 - this.#port.choose(length - 1, `tear:${file}`);
  }

  #sync(sync: machine.Sync | undefined, key: string, file?: string): () => void {
    this.#port.touched(key, key === "disk" ? "write" : "read");
    if (sync === undefined) throw new DiskFault("ENOENT", "open", file);
    const failed = this.#fails("sync", file);
    return () => {
      this.#port.touched(key, "write");
      if (file !== undefined) {
        // The file may have been renamed or removed meanwhile.
        const now = machine.nameOf(this.#disk, sync) ?? "";
        if (now !== file) this.#port.touched(`disk:${now}`, "write");
      }
      this.#disk = machine.synced(this.#disk, sync, failed);
      this.#note(
        `sync of ${file ?? (key === "disk" ? "everything" : "the directory")} ${failed ? "failed" : "done"}`,
      );
      if (failed) throw new DiskFault("EIO", "fsync", file);
    };
  }

  #note(text: string): void {
    this.#port.noted?.(text);
  }

  #fails(what: "read" | "sync", file?: string): boolean {
    if (this.#port.failures?.[what] !== true) return false;
    return this.#port.choose(2, file === undefined ? `disk:${what}` : `disk:${what} ${file}`) === 1;
  }

  #content(file: string, syscall: string): Uint8Array {
    this.#touchFile(file, "read");
    const bytes = machine.content(this.#disk, file);
    if (bytes === undefined) throw new DiskFault("ENOENT", syscall, file);
    return bytes;
  }

  #done(after: machine.Disk | undefined, syscall: string, file: string): () => void {
    if (after === undefined) throw new DiskFault("ENOENT", syscall, file);
    this.#disk = after;
    return () => undefined;
  }

  #touchFile(file: string, how: "read" | "write"): void {
    this.#port.touched(`disk:${text("file", file)}`, how);
  }

  #touchDirectory(how: "read" | "write"): void {
    this.#port.touched("disk:", how);
  }
}
