// What a disk holds, and what a power loss leaves of it, as pure functions: one flat directory of files.
//
//   write, truncate,          sync
//   create, remove, ──▶ dirty ─────▶ durable     no power loss takes it back
//   rename                │
//                         └────────▶ adrift      a sync failed: it is still read, and no later sync saves it
//                         failed sync
//
// A power loss decides about every change that is dirty or adrift, each on its own: a file system may bring them to the
// platter in any order (Pillai et al., "All File Systems Are Not Created Equal", 2014). That a failed sync marks pages
// clean is from Rebello et al., "Can Applications Recover from fsync Failures?", 2020.

/** Something done to the content of a file. */
type FileChange =
  | { readonly type: "write"; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly type: "truncate"; readonly size: number };

/**
 * Something done to the directory. `link`: the file has this name from now on, and no other; it is created (`from` is
 * undefined) or renamed in one go.
 */
type NameChange =
  | { readonly type: "link"; readonly name: string; readonly file: number; readonly from: string | undefined }
  | { readonly type: "unlink"; readonly name: string };

interface Change<T> {
  readonly what: T;
  /** Place in the order of all changes of the disk: a sync covers those before it. */
  readonly number: number;
  readonly state: "dirty" | "adrift" | "durable";
}

/** Content on the platter, content as it is read, and what leads from the one to the other. */
interface Cached<C, T> {
  readonly durable: C;
  readonly seen: C;
  /** From the first that is not durable. A durable one after it stays: the order in which they apply matters. */
  readonly changes: readonly Change<T>[];
}

type Names = ReadonlyMap<string, number>;
type File = Cached<Uint8Array, FileChange>;

export interface Disk {
  /** Bytes that arrive whole or not at all, counted from the beginning of the file. 1: a write can be cut anywhere. */
  readonly sector: number;
  readonly directory: Cached<Names, NameChange>;
  /** By number, with those whose last name is gone as long as the directory might come back to it. */
  readonly files: ReadonlyMap<number, File>;
  /** How many changes there were. */
  readonly made: number;
}

/** What a sync that was begun will make durable, if it succeeds: the changes before it. */
export interface Sync {
  readonly of: number | "directory" | "everything";
  readonly before: number;
}

/** A number from 0 to `n` - 1, where 0 is that nothing is lost; `n` is at least 2. */
export type Choose = (n: number, label: string) => number;

export function emptyDisk(sector: number): Disk {
  const none: Names = new Map();
  return { sector, directory: { durable: none, seen: none, changes: [] }, files: new Map(), made: 0 };
}

/** In order. */
export function names(disk: Disk): string[] {
  return [...disk.directory.seen.keys()].sort();
}

/** The content as it is read, which is not for changing; undefined when there is no such file. */
export function content(disk: Disk, name: string): Uint8Array | undefined {
  const file = disk.directory.seen.get(name);
  return file === undefined ? undefined : disk.files.get(file)?.seen;
}

/** Writes at `offset`, or at the end. A file that is not there is created; a gap is filled with zeros. */
export function write(disk: Disk, name: string, offset: number | "end", bytes: Uint8Array): Disk {
  const file = disk.directory.seen.get(name);
  if (file === undefined) return write(create(disk, name), name, offset, bytes);
  if (bytes.length === 0) return disk;
  const at = offset === "end" ? (disk.files.get(file) as File).seen.length : offset;
  return changeFile(disk, file, { type: "write", offset: at, bytes });
}

/** Cuts the file, or makes it longer with zeros; undefined when there is no such file. */
export function truncate(disk: Disk, name: string, size: number): Disk | undefined {
  const file = disk.directory.seen.get(name);
  return file === undefined ? undefined : changeFile(disk, file, { type: "truncate", size });
}

/** Undefined when there is no such file. */
export function remove(disk: Disk, name: string): Disk | undefined {
  return disk.directory.seen.has(name) ? changeNames(disk, { type: "unlink", name }) : undefined;
}

/** Takes the place of a file that has the new name, in one go; undefined when there is no file of the old name. */
export function rename(disk: Disk, from: string, to: string): Disk | undefined {
  const file = disk.directory.seen.get(from);
  if (file === undefined || from === to) return file === undefined ? undefined : disk;
  return changeNames(disk, { type: "link", name: to, file, from });
}

/** A sync of the content of one file; undefined when there is no such file. */
export function syncOf(disk: Disk, name: string): Sync | undefined {
  const file = disk.directory.seen.get(name);
  return file === undefined ? undefined : { of: file, before: disk.made };
}

/** A sync of all names, or of all names and all contents. */
export function syncOfAll(disk: Disk, of: "directory" | "everything"): Sync {
  return { of, before: disk.made };
}

/** The name that the file of a sync has now; undefined when it has none, or the sync is of more than a file. */
export function nameOf(disk: Disk, { of }: Sync): string | undefined {
  return [...disk.directory.seen].find(([, file]) => file === of)?.[0];
}

/** The sync has come to its end: what it covers is durable, or adrift when it failed. */
export function synced(disk: Disk, { of, before }: Sync, failed: boolean): Disk {
  const state = failed ? "adrift" : "durable";
  const files = new Map(disk.files);
  for (const [number, file] of files)
    if (of === number || of === "everything") files.set(number, marked(file, applyToFile, before, state));
  const { directory } = disk;
  const done = typeof of === "number" ? directory : marked(directory, applyToNames, before, state);
  return withoutOrphans({ ...disk, files, directory: done });
}

/**
 * The power is lost. Says what that leaves, and what it took, one line for each change that did not survive whole.
 *
 * Each change that is not durable has its own fate, and the choice 0 is always that it survives: a schedule that is
 * shortened for reading thus loses what its failure needs, and nothing besides. A change of the directory survives or is
 * lost. A write survives, is lost, is cut short, or made the file longer without bringing its bytes, which then are zeros.
 */
export function crash(disk: Disk, choose: Choose): readonly [disk: Disk, losses: readonly string[]] {
  const losses: string[] = [];
  const left = survived(disk.directory, applyToNames, ({ what }) => {
    if (choose(2, `disk:crash ${what.name}`) === 0) return what;
    losses.push(`lost: ${describeName(what)}`);
    return undefined;
  });
  const files = new Map<number, File>();
  for (const [name, number] of left) {
    const bytes = survived(disk.files.get(number) as File, applyToFile, ({ what }, before) => {
      const fate = fateOf(what, before.length, disk.sector, name, choose);
      if (fate.how !== "whole") losses.push(`${fate.how}: ${describeWrite(what)} "${name}"`);
      return fate.change;
    });
    files.set(number, { durable: bytes, seen: bytes, changes: [] });
  }
  return [{ ...disk, directory: { durable: left, seen: left, changes: [] }, files }, losses];
}

// ── one file, one directory ─────────────────────────────────────────────────────────────────────────────────────────

const NO_BYTES = new Uint8Array(0);

function create(disk: Disk, name: string): Disk {
  const file = disk.made;
  const empty: File = { durable: NO_BYTES, seen: NO_BYTES, changes: [] };
  const files = new Map(disk.files).set(file, empty);
  return changeNames({ ...disk, files }, { type: "link", name, file, from: undefined });
}

function changeNames(disk: Disk, what: NameChange): Disk {
  const directory = changed(disk.directory, applyToNames, what, disk.made);
  return { ...disk, directory, made: disk.made + 1 };
}

function changeFile(disk: Disk, number: number, what: FileChange): Disk {
  const file = changed(disk.files.get(number) as File, applyToFile, what, disk.made);
  return { ...disk, files: new Map(disk.files).set(number, file), made: disk.made + 1 };
}

function applyToNames(before: Names, what: NameChange): Names {
  const after = new Map(before);
  if (what.type === "unlink") after.delete(what.name);
  else {
    for (const [name, file] of before) if (file === what.file) after.delete(name);
    after.set(what.name, what.file);
  }
  return after;
}

function applyToFile(bytes: Uint8Array, what: FileChange): Uint8Array {
  if (what.type === "truncate") return sized(bytes.subarray(0, what.size), what.size);
  const after = sized(bytes, Math.max(bytes.length, what.offset + what.bytes.length));
  after.set(what.bytes, what.offset);
  return after;
}

function sized(bytes: Uint8Array, size: number): Uint8Array {
  const longer = new Uint8Array(size);
  longer.set(bytes);
  return longer;
}

/** A file that no name leads to, and that none can lead to any more, is gone. */
function withoutOrphans(disk: Disk): Disk {
  const { durable, seen, changes } = disk.directory;
  const linked = changes.map(({ what }) => (what.type === "link" ? what.file : undefined));
  const reachable = new Set([...durable.values(), ...seen.values(), ...linked]);
  return { ...disk, files: new Map([...disk.files].filter(([number]) => reachable.has(number))) };
}

// ── changes on their way to the platter ─────────────────────────────────────────────────────────────────────────────

type Apply<C, T> = (content: C, what: T) => C;

function changed<C, T>(cached: Cached<C, T>, apply: Apply<C, T>, what: T, number: number): Cached<C, T> {
  const changes: Change<T>[] = [...cached.changes, { what, number, state: "dirty" }];
  return { durable: cached.durable, seen: apply(cached.seen, what), changes };
}

/** The dirty changes made before a sync get its outcome; durable ones with nothing open before them go to the platter. */
function marked<C, T>(
  { durable, seen, changes }: Cached<C, T>,
  apply: Apply<C, T>,
  before: number,
  state: "adrift" | "durable",
): Cached<C, T> {
  const now = changes.map((one) => (one.state === "dirty" && one.number < before ? { ...one, state } : one));
  const open = now.findIndex((one) => one.state !== "durable");
  const settled = open < 0 ? now : now.slice(0, open);
  const platter = settled.reduce((content, { what }) => apply(content, what), durable);
  return { durable: platter, seen, changes: now.slice(settled.length) };
}

/** The content after a power loss; `fate` gives what is left of a change that is not durable. */
function survived<C, T>(
  { durable, changes }: Cached<C, T>,
  apply: Apply<C, T>,
  fate: (change: Change<T>, before: C) => T | undefined,
): C {
  return changes.reduce((content, change) => {
    const left = change.state === "durable" ? change.what : fate(change, content);
    return left === undefined ? content : apply(content, left);
  }, durable);
}

interface Fate {
  readonly how: string;
  readonly change: FileChange | undefined;
}

function fateOf(what: FileChange, size: number, sector: number, name: string, choose: Choose): Fate {
  const fates = ["whole", "lost"];
  const cuts = what.type === "write" ? cutsOf(what.offset, what.bytes.length, sector) : 0;
  if (cuts > 0) fates.push("torn");
  const end = what.type === "write" ? what.offset + what.bytes.length : 0;
  if (end > size) fates.push("zeros");
  const how = fates[choose(fates.length, `disk:crash ${name}`)] as string;
  if (how === "lost") return { how, change: undefined };
  if (how === "zeros") return { how, change: { type: "truncate", size: end } };
  if (how === "whole" || what.type !== "write") return { how, change: what };
  const cut = cuts === 1 ? 0 : choose(cuts, `disk:tear ${name}`);
  const left = (lastCut(end, sector) - cut) * sector - what.offset;
  return { how: `torn after ${left} bytes`, change: { ...what, bytes: what.bytes.subarray(0, left) } };
}

/** At how many places between its first and its last byte a write can be cut. */
function cutsOf(offset: number, length: number, sector: number): number {
  return lastCut(offset + length, sector) - Math.floor(offset / sector);
}

/** The boundary of sectors before the last byte, the one that loses least. */
function lastCut(end: number, sector: number): number {
  return Math.floor((end - 1) / sector);
}

function describeName(what: NameChange): string {
  if (what.type === "unlink") return `the removal of "${what.name}"`;
  return what.from === undefined
    ? `the creation of "${what.name}"`
    : `the renaming of "${what.from}" to "${what.name}"`;
}

function describeWrite(what: FileChange): string {
  return what.type === "truncate"
    ? `the truncation to ${what.size} bytes of`
    : `the write of ${what.bytes.length} bytes at ${what.offset} to`;
}
