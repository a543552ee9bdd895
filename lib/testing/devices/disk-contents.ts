// The contents of a disk, and what survives a power loss, as pure functions over one flat directory of files.
//
//   write, truncate,          sync
//   create, remove, ──▶ dirty ─────▶ durable     no power loss takes it back
//   rename                │
//                         └────────▶ adrift      a sync failed: reads still see it, and no later sync makes it durable
//                         failed sync
//
// A power loss takes each dirty or adrift change with even odds. Each has its own fate, because a file system may write changes in
// any order (Pillai et al., "All File Systems Are Not Created Equal", 2014); a disk may also keep the order. A failed sync marks
// pages clean (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).

/** A change of a file's content. */
type FileChange =
  | {
      readonly type: "write";
      readonly offset: number;
      /** The offset was the end of the file. */
      readonly appends: boolean;
      readonly bytes: Uint8Array;
    }
  | { readonly type: "truncate"; readonly size: number };

/**
 * A change of the directory. `link`: the file gets this name and loses any other; the file is created (`from` is undefined) or
 * renamed atomically.
 */
type NameChange =
  | { readonly type: "link"; readonly name: string; readonly file: number; readonly from: string | undefined }
  | { readonly type: "unlink"; readonly name: string };

interface Change<T> {
  readonly what: T;
  /** Position among all changes of the disk. A sync covers the changes before it. */
  readonly number: number;
  readonly state: "dirty" | "adrift" | "durable";
}

/** The durable content, the content that reads see, and the changes between the two. */
interface Cached<C, T> {
  readonly durable: C;
  readonly seen: C;
  /** Starts with the first change that is not durable. Durable changes after it are kept, because order matters. */
  readonly changes: readonly Change<T>[];
}

type Names = ReadonlyMap<string, number>;
type File = Cached<Uint8Array, FileChange>;

/** The possible effects of a power loss. */
export interface DiskModel {
  /** Size of the blocks that are written atomically, counted from the beginning of the file. With 1, a write may tear anywhere. */
  readonly sector: number;
  /** Changes become durable in their order. */
  readonly ordered: boolean;
  /** Names become durable in their order, and the sync of a file covers all names. */
  readonly journaled: boolean;
}

export interface Disk {
  readonly model: DiskModel;
  readonly directory: Cached<Names, NameChange>;
  /** Files by number, including unlinked files that a power loss could bring back. */
  readonly files: ReadonlyMap<number, File>;
  /** Number of changes so far. */
  readonly made: number;
}

/** A sync in progress. If it succeeds, the changes before it become durable. */
export interface Sync {
  readonly of: number | "directory" | "everything";
  readonly before: number;
}

/** Returns a number from 0 to `n` - 1, where 0 means that less is lost; `n` is at least 2. */
export type Choose = (n: number, label: string) => number;

export function emptyDisk(model: DiskModel): Disk {
  const none: Names = new Map();
  return { model, directory: { durable: none, seen: none, changes: [] }, files: new Map(), made: 0 };
}

/** The names of all files, sorted. */
export function names(disk: Disk): string[] {
  return [...disk.directory.seen.keys()].sort();
}

/** The content as reads see it; the caller must not change it. Undefined when there is no such file. */
export function content(disk: Disk, name: string): Uint8Array | undefined {
  const file = disk.directory.seen.get(name);
  return file === undefined ? undefined : disk.files.get(file)?.seen;
}

/** Writes at `offset`, or at the end. Creates a missing file, and fills a gap with zeros. */
export function write(disk: Disk, name: string, offset: number | "end", bytes: Uint8Array): Disk {
  const file = disk.directory.seen.get(name);
  if (file === undefined) return write(create(disk, name), name, offset, bytes);
  if (bytes.length === 0) return disk;
  const at = offset === "end" ? (disk.files.get(file) as File).seen.length : offset;
  return changeFile(disk, file, { type: "write", offset: at, appends: offset === "end", bytes });
}

/** Shortens the file, or extends it with zeros. Undefined when there is no such file. */
export function truncate(disk: Disk, name: string, size: number): Disk | undefined {
  const file = disk.directory.seen.get(name);
  return file === undefined ? undefined : changeFile(disk, file, { type: "truncate", size });
}

/** Removes a file. Undefined when there is no such file. */
export function remove(disk: Disk, name: string): Disk | undefined {
  return disk.directory.seen.has(name) ? changeNames(disk, { type: "unlink", name }) : undefined;
}

/** Renames a file atomically and replaces a file that has the new name. Undefined when there is no file `from`. */
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

/** The present name of the file that a sync covers. Undefined when the file has none, or the sync covers more than a file. */
export function nameOf(disk: Disk, { of }: Sync): string | undefined {
  return [...disk.directory.seen].find(([, file]) => file === of)?.[0];
}

/** Ends a sync: the changes that it covers become durable, or adrift if it failed. */
export function synced(disk: Disk, { of, before }: Sync, failed: boolean): Disk {
  const state = failed ? "adrift" : "durable";
  const files = new Map(disk.files);
  for (const [number, file] of files)
    if (of === number || of === "everything") files.set(number, marked(file, applyToFile, before, state));
  const { directory, model } = disk;
  const withNames = typeof of !== "number" || (model.journaled && !failed);
  const done = withNames ? marked(directory, applyToNames, before, state) : directory;
  return withoutOrphans({ ...disk, files, directory: done });
}

/**
 * A power loss. Returns the disk afterwards, and one line for each change that did not survive whole.
 *
 * Each change that is not durable survives or not. If the disk keeps their order, the changes after the first one that does not
 * survive are lost. Choice 0 is always that a change survives, so a shrunk schedule loses only what its failure needs. A change of
 * the directory that does not survive is lost. A write is lost, is torn, or extends the file without its bytes, which are zeros
 * then.
 */
export function crash(disk: Disk, choose: Choose): readonly [disk: Disk, losses: readonly string[]] {
  const { model } = disk;
  const losses: string[] = [];
  const first = model.ordered ? firstLoss(disk, choose) : undefined;
  let kept = true;
  const left = survived(disk.directory, applyToNames, ({ what, number }) => {
    const survives = first === undefined ? choose(2, `loss:${what.name}`) === 0 : number < first;
    kept = survives && (kept || !model.journaled);
    if (kept) return what;
    losses.push(`${what.name}: ${describeName(what)} lost`);
    return undefined;
  });
  const files = new Map<number, File>();
  for (const [name, number] of left) {
    const bytes = survived(disk.files.get(number) as File, applyToFile, (change, before) => {
      const { what } = change;
      const survives = first === undefined ? choose(2, `loss:${name}`) === 0 : change.number < first;
      if (survives) return what;
      const later = first !== undefined && change.number > first;
      const { how, change: rest } = later ? LOST : damageOf(what, before.length, model.sector, name, choose);
      losses.push(`${name}: ${describeWrite(what)} ${how}`);
      return rest;
    });
    files.set(number, { durable: bytes, seen: bytes, changes: [] });
  }
  return [{ ...disk, directory: { durable: left, seen: left, changes: [] }, files }, losses];
}

/** The number of the first change that does not survive, on a disk that keeps their order. */
function firstLoss({ directory, files }: Disk, choose: Choose): number {
  const changes = [directory, ...files.values()].flatMap(
    (cached): readonly Change<unknown>[] => cached.changes,
  );
  const pending = changes.filter(({ state }) => state !== "durable").sort((a, b) => a.number - b.number);
  const first = pending.find(() => choose(2, "loss:disk") === 1);
  return first?.number ?? Number.POSITIVE_INFINITY;
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

/** Drops files without a name that no durable or pending change can bring back. */
function withoutOrphans(disk: Disk): Disk {
  const { durable, seen, changes } = disk.directory;
  const linked = changes.map(({ what }) => (what.type === "link" ? what.file : undefined));
  const reachable = new Set([...durable.values(), ...seen.values(), ...linked]);
  return { ...disk, files: new Map([...disk.files].filter(([number]) => reachable.has(number))) };
}

// ── changes that are not durable yet ────────────────────────────────────────────────────────────────────────────────

type Apply<C, T> = (content: C, what: T) => C;

function changed<C, T>(cached: Cached<C, T>, apply: Apply<C, T>, what: T, number: number): Cached<C, T> {
  const changes: Change<T>[] = [...cached.changes, { what, number, state: "dirty" }];
  return { durable: cached.durable, seen: apply(cached.seen, what), changes };
}

/** Gives the dirty changes before a sync their outcome. Durable changes with nothing pending before them are merged. */
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

/** The content after a power loss; `fate` returns what is left of a change that is not durable. */
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

/** The rest of a change that did not survive whole. */
interface Damage {
  readonly how: string;
  readonly change: FileChange | undefined;
}

const LOST: Damage = { how: "lost", change: undefined };

function damageOf(what: FileChange, size: number, sector: number, name: string, choose: Choose): Damage {
  if (what.type !== "write") return LOST;
  const end = what.offset + what.bytes.length;
  const cuts = cutsOf(what.offset, what.bytes.length, sector);
  const ways = ["lost", ...(cuts > 0 ? ["torn"] : []), ...(end > size ? ["zeros"] : [])];
  const way = ways.length === 1 ? "lost" : ways[choose(ways.length, `damage:${name}`)];
  if (way === "lost") return LOST;
  if (way === "zeros") return { how: "left as zeros", change: { type: "truncate", size: end } };
  const cut = cuts === 1 ? 0 : choose(cuts, `tear:${name}`);
  const left = (lastCut(end, sector) - cut) * sector - what.offset;
  return { how: `torn after ${left}`, change: { ...what, bytes: what.bytes.subarray(0, left) } };
}

/** Number of places between the first and the last byte of a write at which it can tear. */
function cutsOf(offset: number, length: number, sector: number): number {
  return lastCut(offset + length, sector) - Math.floor(offset / sector);
}

/** The last sector boundary before the last byte: tearing there loses least. */
function lastCut(end: number, sector: number): number {
  return Math.floor((end - 1) / sector);
}

function describeName(what: NameChange): string {
  if (what.type === "unlink") return "removal";
  return what.from === undefined ? "creation" : `renaming from ${what.from}`;
}

function describeWrite(what: FileChange): string {
  if (what.type === "truncate") return `truncation to ${what.size} bytes`;
  const { appends, offset, bytes } = what;
  return appends ? `append of ${bytes.length} bytes` : `write of ${bytes.length} bytes at ${offset}`;
}
