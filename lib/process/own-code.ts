// Recognizes the lines of a stack trace that are code of the library or of Node, so that users see their own.

/** `/D:/box/lib/process/own-code.ts` of a module's URL; a path of Windows begins with its drive. */
const SELF =
  /^(?:file:\/\/(?:\/(?=[A-Za-z]:))?)?(?:(.*\/)process\/own-code\.[jt]s|(.*\/dist\/)(?:chunks\/[^/]+|testing\/index)\.js)/;

/** The folder of the library, in the forms in which stack lines write it; none when the library is bundled into other code. */
export function folders(url: string): readonly string[] {
  const found = SELF.exec(url);
  const own = found?.[1] ?? found?.[2];
  return own === undefined ? [] : [own, decodeURI(own)];
}

export const OWN: readonly string[] = folders(import.meta.url);

/** Whether a stack line with this file belongs to the library. */
export function isOwn(line: string, own: readonly string[] = OWN): boolean {
  const path = line.replaceAll("\\", "/");
  return own.some((folder) => path.includes(folder));
}

/** A file and a position at the end of a stack line: in brackets after a function's name, or bare. */
const PLACE = /(?:\(|^at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]+:\d+:\d+)\)?$/;
const MODULES = /[\\/]node_modules[\\/]/;

/**
 * The first place of a stack that belongs to no library and not to Node: for example `/home/me/shop/spec/shop.spec.ts:12:9`;
 * undefined when there is none.
 */
export function placeOf(stack: string, own?: readonly string[]): string | undefined {
  for (const line of stack.split("\n").slice(1)) {
    const found = PLACE.exec(line.trim())?.[1];
    if (found !== undefined && !MODULES.test(found) && !isOwn(found, own)) return found;
  }
  return undefined;
}

/** A frame as V8 writes it (`    at bake (file:///shop/oven.js:3:9)`), or as other engines do (`bake@file:///shop/oven.js:3:9`). */
const FRAME = /^\s+at |@.*:\d+:\d+$/;
const NODE = /[( ]node:internal\//;

/** Whether a line of a stack is a frame. */
export function isFrame(line: string): boolean {
  return FRAME.test(line);
}

/** Most characters of a stack that are looked at, from its end. A stack begins with the message, which may be long. */
const LOOKED_AT = 10_000;

/**
 * The frames of a stack without its message, and without frames of the library and of Node's own modules. A stack that has
 * no other frames keeps these.
 */
export function userFrames(stack: string, own: readonly string[] = OWN): readonly string[] {
  const lines = stack.slice(-LOOKED_AT).split("\n");
  const first = lines.findLastIndex((line) => !isFrame(line)) + 1;
  const frames = lines.slice(first);
  const users = frames.filter((line) => !isOwn(line, own) && !NODE.test(line));
  return users.length === 0 ? frames : users;
}
