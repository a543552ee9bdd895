// Texts on a simulated disk, for services that keep their state in files.

import type { SimulatedDisk } from "signalbox/testing";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export async function append(disk: SimulatedDisk, file: string, text: string): Promise<void> {
  await disk.append(file, encoder.encode(text));
}

/** The content of a file; nothing if there is none. */
export async function readText(disk: SimulatedDisk, file: string): Promise<string> {
  const content = await disk.read(file).catch(() => new Uint8Array());
  return decoder.decode(content);
}

/** Replaces the content of a file so that a power loss leaves the old or the new one, whole. */
export async function replace(disk: SimulatedDisk, file: string, text: string): Promise<void> {
  await disk.remove("next").catch(() => undefined);
  await append(disk, "next", text);
  await disk.sync("next");
  await disk.rename("next", file);
  await disk.syncDirectory();
}
