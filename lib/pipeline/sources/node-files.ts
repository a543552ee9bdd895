// The files of sources and writers: the one place where they meet Node's.

import { node } from "../../process/node-modules.js";

/** An open file. */
export type OpenFile = Awaited<ReturnType<typeof node.fs.promises.open>>;

/** Opens a file to be read. @throws the error of Node, with the path */
export function openToRead(path: string): Promise<OpenFile> {
  return node.fs.promises.open(path, "r");
}

/** Opens a file to be read and written; creates it. @throws the error of Node, with the path */
export function openToWrite(path: string): Promise<OpenFile> {
  const { O_RDWR, O_CREAT } = node.fs.constants;
  return node.fs.promises.open(path, O_RDWR | O_CREAT, 0o666);
}
