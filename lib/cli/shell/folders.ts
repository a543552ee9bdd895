// Files as bytes, whole folders, and programs in the path of the shell. One of the files of this floor that reach Node.

import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join, relative, resolve, sep } from "node:path";

/** Files and folders of this host. */
export interface Folders {
  /** Undefined: there is no such file. */
  bytes(path: string): Uint8Array | undefined;
  /** The files below a folder, by their paths from it with forward slashes, in order. Undefined: there is no such folder. */
  filesBelow(folder: string): readonly string[] | undefined;
  /** The names in a folder, in order. Empty: there is no such folder. */
  namesIn(folder: string): readonly string[];
  /** Writes a file at once: no other program sees a part of it. Follows links; a pipe or a device is written to. @throws Error */
  replace(path: string, bytes: Uint8Array): void;
  /** Writes a file, and makes the folders above it. @throws Error */
  write(path: string, bytes: Uint8Array): void;
  /** A program in the folders of PATH, behind its symbolic links. */
  inPath(program: string, path: string): string | undefined;
  resolve(...parts: readonly string[]): string;
  parent(path: string): string;
  /** The file of a module of this package, such as `signalbox/topology`. @throws Error */
  ownModule(name: string): string;
  /** A moment that a zip writes in the same way in every time zone: it has no zone of its own. */
  zipTime(): Date;
}

export const folders: Folders = {
  bytes: (path) => (isPlain(path) ? new Uint8Array(readFileSync(path)) : undefined),
  filesBelow: (folder) => (isFolder(folder) ? below(folder, folder).sort() : undefined),
  namesIn: (folder) => (isFolder(folder) ? readdirSync(folder).sort() : []),
  replace: (path, bytes) => {
    const target = existsSync(path) ? realpathSync(path) : resolve(path);
    if (isFolder(target)) throw new Error("it is a folder");
    if (!isFolder(dirname(target))) throw new Error(`there is no folder ${dirname(target)}`);
    // A pipe or a device would be replaced by a file.
    if (existsSync(target) && !isPlain(target)) return writeFileSync(target, bytes);
    const beside = join(dirname(target), `.${basename(target)}.${process.pid}`);
    try {
      writeFileSync(beside, bytes);
      renameSync(beside, target);
    } catch (error) {
      rmSync(beside, { force: true });
      throw error;
    }
  },
  write: (path, bytes) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  },
  inPath: (program, path) => {
    const found = path
      .split(delimiter)
      .filter((folder) => folder !== "")
      .map((folder) => join(folder, program))
      .find(isExecutable);
    return found === undefined ? undefined : realpathSync(found);
  },
  resolve: (...parts) => resolve(...parts),
  parent: (path) => dirname(path),
  ownModule: (name) => createRequire(import.meta.url).resolve(name),
  zipTime: () => new Date(1980, 0, 1, 12),
};

const isPlain = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isPlain(path);
  } catch {
    return false;
  }
}

/** Links to files count as files. Folders behind links are left out: they may lead in a circle. */
function below(folder: string, root: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return below(path, root);
    return isPlain(path) ? [relative(root, path).split(sep).join("/")] : [];
  });
}
