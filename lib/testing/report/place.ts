// Where code is: the first line of a stack that is neither the library's nor the host's.

/** A file and a position, at the end of a line of a stack: within brackets behind a function's name, or bare. */
const FRAME = /(?:\(|^at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]+:\d+:\d+)\)?$/;
const MODULES = /[\\/]node_modules[\\/]/;
/** `/D:/box/lib/testing/report/place.ts` of a module's URL; a path of Windows begins with its drive. */
const SELF =
  /^(?:file:\/\/(?:\/(?=[A-Za-z]:))?)?(?:(.*\/)testing\/report\/place\.[jt]s|(.*\/dist\/)testing\/index\.js)/;

/** The folder of the library as lines of a stack may write it; nothing when it was bundled into something else. */
export function folders(url: string): readonly string[] {
  const found = SELF.exec(url);
  const own = found?.[1] ?? found?.[2];
  return own === undefined ? [] : [own, decodeURI(own)];
}

const OWN = folders(import.meta.url);

/** `/home/me/shop/spec/shop.spec.ts:12:9`, or undefined when the stack is the library's alone. */
export function placeOf(stack: string, own: readonly string[] = OWN): string | undefined {
  for (const line of stack.split("\n").slice(1)) {
    const found = FRAME.exec(line.trim())?.[1];
    if (found === undefined || MODULES.test(found)) continue;
    const path = found.replaceAll("\\", "/");
    if (!own.some((folder) => path.includes(folder))) return found;
  }
  return undefined;
}
