// Where the evidence of a host lives between two lives of its program: a small folder. Beside the file of a SQLite store, else in
// the host's folder for temporary files. It is written synchronously, for the program may end at any moment; it is not synced, for a
// loss of power accuses no subject.

import { OptionError } from "../../process/errors.js";
import { node, optionalModule } from "../../process/node-modules.js";
import { hash } from "../../process/stable-hash.js";

/** The files: the state of the machine; the evidence of an end; a spin that the watcher saw; the running subject, in a watched life. */
export type EvidenceFile = "lives" | "end" | "spin" | "now";

/** The folder of one host. Only this host has it open. */
export interface EvidenceFolder {
  read(file: EvidenceFile): string | undefined;
  /** Replaces a file, synchronously. */
  write(file: EvidenceFile, text: string): void;
  remove(file: EvidenceFile): void;
  /** Writes the start of `now` in place, in one call of the system, without a new file. */
  note(bytes: Uint8Array): void;
  /** Where a thread may write a file, if it has a path. */
  pathOf(file: EvidenceFile): string | undefined;
  /** The host is done. `isEmpty`: nothing has to be kept. */
  close(isEmpty: boolean): void;
}

/** Where hosts keep their evidence. */
export interface EvidencePlace {
  /** @param who - the kind of host, and its id if it has one. Undefined: there is no place for one more. */
  open(who: string): EvidenceFolder | undefined;
}

/** Where a host keeps its evidence: the path of a folder, a place of its own, or `false` for no evidence. */
export type EvidenceOption = string | false | EvidencePlace;

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** Bits of the mode of a file: its kind, the kind of a folder (a link is another), and the rights of others than its owner to write. */
const S_IFMT = 0o170000;
const S_IFDIR = 0o040000;
const OTHERS_WRITE = 0o022;
/** Most hosts of one kind and one store on a machine that leave evidence. */
const MOST_SLOTS = 64;

/** The folders that this thread has open. */
const open = new Set<string>();

/** A place in the file system. Undefined where there is none. */
export function evidenceIn(path: string): EvidencePlace | undefined {
  return optionalModule("node:fs") === undefined ? undefined : new FilePlace(path);
}

/** A place among the temporary files. Undefined if other users of the machine could write there: they could accuse any flow. */
function evidenceAmongTemporaryFiles(label: string): EvidencePlace | undefined {
  const { os, fs, path } = node;
  const user = node.process.getuid?.();
  const folder = path.join(os.tmpdir(), `signalbox-evidence-${user ?? ""}-${hash(label).toString(36)}`);
  try {
    fs.mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const { uid, mode } = fs.lstatSync(folder);
    const isOwn = user === undefined || (uid === user && (mode & (S_IFMT | OTHERS_WRITE)) === S_IFDIR);
    return isOwn ? evidenceIn(folder) : undefined;
  } catch {
    return undefined;
  }
}

/** Where the hosts of a file keep their evidence. */
const besideFile = (file: string): string => `${file}.evidence`;
/** A state is a few kilobytes. What is larger is none. */
const MOST_BYTES = 1 << 20;

/**
 * What hosts of a kind have written beside the file of a store, those that run included. Changes nothing.
 *
 * @returns for each, its kind and id, and its state
 */
export function writtenBeside(
  file: string,
  kind: string,
): readonly { readonly who: string; readonly lives: string | undefined }[] {
  if (optionalModule("node:fs") === undefined) return [];
  const { fs, path } = node;
  const folder = path.resolve(besideFile(file));
  let names: string[];
  try {
    names = fs.readdirSync(folder);
  } catch {
    // No host has left evidence.
    return [];
  }
  const own = names.filter((name) => name.startsWith(`${kind}-`)).sort();
  return own.slice(0, MOST_SLOTS).map((name) => ({
    // The number of the folder says nothing to people.
    who: name.replace(/-\d+$/, ""),
    lives: readSmall(path.join(folder, name, "lives" satisfies EvidenceFile)),
  }));
}

function readSmall(path: string): string | undefined {
  try {
    return node.fs.statSync(path).size > MOST_BYTES ? undefined : node.fs.readFileSync(path, "utf8");
  } catch {
    // It was removed meanwhile.
    return undefined;
  }
}

/**
 * The place for the hosts of a store: the one of the option, if it is given, else beside the store's file, else under the temporary files of the
 * machine, by the label of the store.
 */
export function evidencePlaceOf(
  folder: EvidenceOption | undefined,
  store: { readonly file?: string; readonly label: string },
  isShared: boolean,
): EvidencePlace | undefined {
  const os = optionalModule("node:os");
  if (folder === false || os === undefined) return undefined;
  if (typeof folder === "object") return folder;
  if (folder !== undefined) return evidenceIn(folder);
  if (store.file !== undefined) return evidenceIn(besideFile(store.file));
  // The content of a store in memory does not outlive the program.
  if (!isShared) return undefined;
  return optionalModule("node:fs") === undefined ? undefined : evidenceAmongTemporaryFiles(store.label);
}

/** Checks an option `evidence`. @throws OptionError */
export function checkEvidence(path: string, given: unknown): EvidenceOption | undefined {
  if (given === undefined || given === false || (typeof given === "string" && given !== "")) return given;
  if (typeof (given as { readonly open?: unknown } | null)?.open === "function")
    return given as EvidencePlace;
  throw new OptionError(path, given, "the path of a folder, or false for no evidence");
}

class FilePlace implements EvidencePlace {
  readonly #path: string;

  constructor(path: string) {
    this.#path = node.path.resolve(path);
  }

  /** The first folder that no program has open. After a crash that is, most often, the one of the host that died. */
  open(who: string): EvidenceFolder | undefined {
    const name = who.replace(/[^\w.-]/g, "_");
    for (let slot = 0; slot < MOST_SLOTS; slot++) {
      const path = node.path.join(this.#path, `${name}-${slot}`);
      try {
        if (isFree(path) && take(path)) return new FileFolder(path, this.#path);
      } catch {
        // A read-only or full disk: the host runs without evidence.
        return undefined;
      }
    }
    return undefined;
  }
}

const pidFile = (path: string): string => node.path.join(path, "pid");

function isFree(path: string): boolean {
  if (open.has(path)) return false;
  let pid: number;
  try {
    pid = Number(node.fs.readFileSync(pidFile(path), "utf8"));
  } catch {
    return true;
  }
  // A program with this program's pid died before this one began.
  if (pid === node.process.pid || !(pid > 0)) return true;
  try {
    node.process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH";
  }
}

/** False: another program was faster. */
function take(path: string): boolean {
  const { fs, process } = node;
  fs.mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  fs.rmSync(pidFile(path), { force: true });
  try {
    fs.writeFileSync(pidFile(path), String(process.pid), { flag: "wx", mode: PRIVATE_FILE });
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
  open.add(path);
  return true;
}

class FileFolder implements EvidenceFolder {
  readonly #path: string;
  readonly #parent: string;
  #now: number | undefined;

  constructor(path: string, parent: string) {
    this.#path = path;
    this.#parent = parent;
  }

  pathOf(file: EvidenceFile): string {
    return node.path.join(this.#path, file);
  }

  read(file: EvidenceFile): string | undefined {
    try {
      return node.fs.readFileSync(this.pathOf(file), "utf8");
    } catch {
      return undefined;
    }
  }

  /** Evidence that cannot be written is lost, and does no harm. */
  write(file: EvidenceFile, text: string): void {
    const path = this.pathOf(file);
    try {
      node.fs.writeFileSync(`${path}.new`, text, { mode: PRIVATE_FILE });
      node.fs.renameSync(`${path}.new`, path);
    } catch {
      // See above.
    }
  }

  remove(file: EvidenceFile): void {
    try {
      if (file === "now") this.#closeNow();
      node.fs.rmSync(this.pathOf(file), { force: true });
    } catch {
      // A folder that was removed.
    }
  }

  note(bytes: Uint8Array): void {
    try {
      this.#now ??= node.fs.openSync(this.pathOf("now"), "w", PRIVATE_FILE);
      node.fs.writeSync(this.#now, bytes, 0, bytes.length, 0);
    } catch {
      // A full disk: the running subject is not known.
    }
  }

  #closeNow(): void {
    if (this.#now !== undefined) node.fs.closeSync(this.#now);
    this.#now = undefined;
  }

  close(isEmpty: boolean): void {
    open.delete(this.#path);
    try {
      this.#closeNow();
      node.fs.rmSync(isEmpty ? this.#path : pidFile(this.#path), { recursive: true, force: true });
      // Fails while other hosts have folders there.
      node.fs.rmdirSync(this.#parent);
    } catch {
      // The files that remain are small.
    }
  }
}
