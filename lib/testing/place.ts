// Where code is: the first line of a stack that is neither the library's nor the host's.

/** A file and a position, at the end of a line of a stack: within brackets behind a function's name, or bare. */
const FRAME = /(?:\(|^at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]+:\d+:\d+)\)?$/;
const MODULES = /[\\/]node_modules[\\/]/;
/** The folder of the library, unless it was bundled into something else. */
const OWN = /^(?:file:\/\/)?(.*\/)testing\/place\.[jt]s/.exec(import.meta.url)?.[1];

/** `/home/me/shop/spec/shop.spec.ts:12:9`, or undefined when the stack is the library's alone. */
export function placeOf(stack: string, own: string | undefined = OWN): string | undefined {
  for (const line of stack.split("\n").slice(1)) {
    const found = FRAME.exec(line.trim())?.[1];
    if (found === undefined || MODULES.test(found)) continue;
    if (own === undefined || !found.replaceAll("\\", "/").includes(own)) return found;
  }
  return undefined;
}
