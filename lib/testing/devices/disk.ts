// The disk of a simulated host, as code meets it: promises, errors with the codes of Node, and now and then a power loss.
// What is on it, and what a power loss leaves, is decided in disk-machine.ts.

import { OptionError, SignalboxError } from "../../process/errors.js";
import { count, text } from "../../process/options.js";
import * as machine from "./disk-machine.js";

/** How a disk reaches the simulator. */
export interface DiskPort {
  /** A number from 0 to `n` - 1, where 0 is what ordinarily happens; `n` is at least 2, labels begin with `disk:`. */
  choose(n: number, label: string): number;
  /** Has `fn`, which settles a promise, called in a step of its own. */
  settle(fn: () => void): void;
  /**
   * The current step reads or writes what `key` stands for: `disk:<file>` a file, `disk:` the directory, and `disk` all of
   * it, which every step of every operation reads, and a power loss or a sync of everything writes.
   */
  touched(key: string, how: "read" | "write"): void;
  /** Which operations may fail. Those that may not, which is all unless they are named here, ask for no choice. */
  readonly failures?: { readonly write?: boolean; readonly sync?: boolean; readonly read?: boolean };
}

export interface DiskOptions {
  /**
   * Bytes that a power loss leaves whole, counted from the beginning of the file. Default 1: a write can be cut anywhere;
   * 512 is what disks promise.
   */
  readonly sector?: number;
}

export type DiskFaultCode = "EIO" | "ENOENT" | "ENOSPC";

/** Number and text that go with a code on Linux. */
const CODES: { readonly [code in DiskFaultCode]: readonly [errno: number, text: string] } = {
  EIO: [-5, "i/o error"],
  ENOENT: [-2, "no such file or directory"],
  ENOSPC: [-28, "no space left on device"],
};

/** An operation of a {@link SimulatedDisk} failed. Looks like the errors of Node's file system, not like ours. */
export class DiskFault extends SignalboxError {
  static override readonly name: string = "DiskFault";
  readonly code: DiskFaultCode;
  readonly errno: number;
  readonly syscall: string;
  /** The file; undefined when a sync was about all of them. */
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
  /** The disk's generation in which the operation began. */
  readonly generation: number;
  constructor(generation: number) {
    super(
      `the power was lost (generation ${generation} of the disk) before the operation was done; start anew from what the disk holds`,
    );
    this.generation = generation;
  }
}

/**
 * A disk that loses what was not synced: one flat directory, in memory.
 *
 * An operation takes effect when it is called, in the order of calls, and its promise is settled in a step of its own. The
 * exception is a sync: it covers what was done before the call, but nothing is durable before its promise is fulfilled.
 * {@link sync} is about the content of a file. A file that was created, renamed or removed has its name there after a power
 * loss for certain only after {@link syncDirectory}, as fsync(2) has it.
 *
 * - A write may fail with `ENOSPC`, and then a part of it may have been written.
 * - A read may fail with `EIO`, and succeed the next time.
 * - A sync may fail with `EIO`. What it covered is still read as it was written, but no later sync makes it durable: only
 *   writing it again, and a sync of that, does (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).
 * - {@link crash} is a power loss.
 *
 * An offset, length or size that is no whole number of bytes rejects with an OptionError; a file that is not there, with
 * a {@link DiskFault} of code `ENOENT`.
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

  /** @throws OptionError when the sector is not a whole number, 1 or more */
  constructor(port: DiskPort, options: DiskOptions = {}) {
    this.#port = port;
    this.#disk = machine.emptyDisk(count("sector", options.sector ?? 1, 1));
  }

  /** How often the power was lost. */
  get generation(): number {
    return this.#generation;
  }

  /** `length` bytes from `offset`, fewer where the file ends before; all of it by default. */
  read(file: string, offset = 0, length?: number): Promise<Uint8Array> {
    return this.#operate(() => {
      count("offset", offset, 0);
      const end = length === undefined ? undefined : offset + count("length", length, 0);
      const bytes = this.#content(file, "open");
      if (this.#fails("read", file)) throw new DiskFault("EIO", "read", file);
      const copy = bytes.slice(offset, end);
      return () => copy;
    });
  }

  /** Puts bytes at `offset`, over what is there; nothing is cut off. Creates the file; a gap is filled with zeros. */
  write(file: string, offset: number, bytes: Uint8Array): Promise<void> {
    return this.#operate(() => this.#write(file, count("offset", offset, 0), bytes));
  }

  /** Puts bytes at the end. Creates the file. */
  append(file: string, bytes: Uint8Array): Promise<void> {
    return this.#operate(() => this.#write(file, "end", bytes));
  }

  /** Cuts the file to `size` bytes, or makes it longer with zeros. */
  truncate(file: string, size = 0): Promise<void> {
    return this.#operate(() => {
      count("size", size, 0);
      this.#touchFile(file, "write");
      return this.#done(machine.truncate(this.#disk, file, size), "open", file);
    });
  }

  /** Takes the file out of the directory. */
  remove(file: string): Promise<void> {
    return this.#operate(() => {
      this.#touchFile(file, "write");
      this.#touchDirectory("write");
      return this.#done(machine.remove(this.#disk, file), "unlink", file);
    });
  }

  /** Gives the file another name, in one go, also in the place of another file: a power loss leaves one or the other. */
  rename(from: string, to: string): Promise<void> {
    return this.#operate(() => {
      this.#touchFile(from, "write");
      this.#touchFile(to, "write");
      this.#touchDirectory("write");
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

  /** In bytes. */
  size(file: string): Promise<number> {
    return this.#operate(() => {
      const { length } = this.#content(file, "stat");
      return () => length;
    });
  }

  /** Makes the content of a file durable: fsync of the file. */
  sync(file: string): Promise<void> {
    return this.#operate(() => {
      const sync = machine.syncOf(this.#disk, text("file", file));
      return this.#sync(sync, `disk:${file}`, file);
    });
  }

  /** Makes the names of files durable: fsync of the directory. */
  syncDirectory(): Promise<void> {
    return this.#operate(() => this.#sync(machine.syncOfAll(this.#disk, "directory"), "disk:"));
  }

  /** Makes all names and all contents durable. */
  syncAll(): Promise<void> {
    return this.#operate(() => this.#sync(machine.syncOfAll(this.#disk, "everything"), "disk"));
  }

  /**
   * The power is lost. Every change that was not synced survives, is lost, is cut short, or leaves zeros where it made the
   * file longer, each as the simulator chooses; by the choice 0 it survives. Operations under way are rejected with a
   * {@link PowerLossError} when their turn comes. The disk can be used again at once, by what is started next.
   *
   * @returns what was lost, one line for each change that did not survive whole
   */
  crash(): readonly string[] {
    this.#port.touched("disk", "write");
    const [left, losses] = machine.crash(this.#disk, (n, label) => this.#port.choose(n, label));
    this.#disk = left;
    this.#generation++;
    return losses;
  }

  /** Begins an operation now, and ends it, with what `begin` gave for that, in a step of its own. */
  #operate<T>(begin: () => () => T): Promise<T> {
    const generation = this.#generation;
    this.#port.touched("disk", "read");
    let end: () => T;
    try {
      end = begin();
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
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
        // Those who would have waited for it are gone with the power: that nobody does is no fault of theirs.
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
    // A copy: what the caller does to its bytes after the call must not change the file.
    this.#disk = machine.write(this.#disk, file, offset, Uint8Array.from(bytes.subarray(0, written)));
    if (written < bytes.length) throw new DiskFault("ENOSPC", "write", file);
    return () => undefined;
  }

  /** How many of `length` bytes get written. The choice 0 after a failure that wrote a part is the largest part. */
  #room(file: string, length: number): number {
    if (this.#port.failures?.write !== true || length === 0) return length;
    const how = this.#port.choose(length > 1 ? 3 : 2, `disk:write ${file}`);
    if (how < 2) return how === 0 ? length : 0;
    return length === 2 ? 1 : length - 1 - this.#port.choose(length - 1, `disk:tear ${file}`);
  }

  #sync(sync: machine.Sync | undefined, key: string, file?: string): () => void {
    this.#port.touched(key, key === "disk" ? "write" : "read");
    if (sync === undefined) throw new DiskFault("ENOENT", "open", file);
    const failed = this.#fails("sync", file);
    return () => {
      this.#port.touched(key, "write");
      if (file !== undefined) {
        // It may have another name by now, or none.
        const now = machine.nameOf(this.#disk, sync) ?? "";
        if (now !== file) this.#port.touched(`disk:${now}`, "write");
      }
      this.#disk = machine.synced(this.#disk, sync, failed);
      if (failed) throw new DiskFault("EIO", "fsync", file);
    };
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
